/* SPDX-License-Identifier: MIT */
/* Takes the place of a header that GNUstep's headers include if blocks are enabled. That header
 * belongs to another Objective-C runtime, so only Block.h is included here. */
#include <Block.h>
