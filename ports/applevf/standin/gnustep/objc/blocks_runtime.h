/* SPDX-License-Identifier: MIT */
/* GNUstep's headers ask for this file of another runtime when blocks are on. */
#include <Block.h>
