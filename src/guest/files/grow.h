/* SPDX-License-Identifier: MIT */
/* Grows the ext4 on a disk that was made larger. */
#ifndef GUEST_GROW_H
#define GUEST_GROW_H

#include "base/error.h"

/* Grows a mounted ext4 to the size of its device. words[0] is a path on that ext4. Does nothing if
 * the ext4 already has that size. */
int grow_to_device(char **words, struct error *err);

#endif
