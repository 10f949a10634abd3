/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes a tap on the bridge, takes the tap up, and returns its descriptor. The tap ends when the
 * descriptor is closed. Returns -1 with errno if this fails. */
int tap_open(const char *bridge);
