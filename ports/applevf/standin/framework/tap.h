/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes a tap on that bridge. The tap is up, and ends with its descriptor. Returns -1 with errno if
 * it fails. */
int tap_open(const char *bridge);
