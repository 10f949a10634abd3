/* SPDX-License-Identifier: MIT */
/* Grows the file system of a disk that was made larger. */
#ifndef GUEST_GROW_H
#define GUEST_GROW_H

#include "base/error.h"

/* Grows a mounted ext4 to the size of its device. words[0] is a path on the ext4. Does nothing if
 * the ext4 has the size of its device already. */
int grow_to_device(char **words, struct error *err);

#endif
