/* SPDX-License-Identifier: MIT */
/* Grows the ext4 file system of a disk that was made larger. */
#ifndef GUEST_GROW_H
#define GUEST_GROW_H

#include "base/error.h"

/* Grows a mounted ext4 file system to the size of its disk. words[0] is a path on this file system.
 * Does nothing if the file system already has that size. */
int grow_to_device(char **words, struct error *err);

#endif
