/* SPDX-License-Identifier: MIT */
/* The file system of a disk that was made larger. */
#ifndef GUEST_GROW_H
#define GUEST_GROW_H

#include "base/error.h"

/* words[0]: a path on a mounted ext4, which becomes as large as its device. One that is so already
 * is left alone. */
int grow_to_device(char **words, struct error *err);

#endif
