/* SPDX-License-Identifier: MIT */
#define RIG_PORT 1
#include "test_vsockd_hostile.c"
