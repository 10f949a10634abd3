/* SPDX-License-Identifier: MIT */
#pragma once

/* A new tap on that bridge, which is up and goes with its descriptor; -1 with errno. */
int tap_open(const char *bridge);
