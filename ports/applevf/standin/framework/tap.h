/* SPDX-License-Identifier: MIT */
#pragma once

/* Creates a tap device on the bridge, switches it on, and returns its file descriptor. The tap
 * device is removed when the file descriptor is closed. Returns -1 with errno set on failure. */
int tap_open(const char *bridge);
