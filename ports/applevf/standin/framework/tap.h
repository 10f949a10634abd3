/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes a tap on that bridge, takes it up, and returns its descriptor, with which the tap ends.
 * Returns -1 with errno if this fails. */
int tap_open(const char *bridge);
