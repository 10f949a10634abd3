/* SPDX-License-Identifier: MIT */
/* An empty file. GNUstep's headers include this file of another runtime if blocks are enabled. */
#include <Block.h>
