/* SPDX-License-Identifier: MIT */
/*
 * The system call filter of what serves a shared directory: no file gets a set-user-ID or
 * set-group-ID bit by it, whoever asks. What a guest's uid 1000 makes there is the invoking user's
 * on the host, so that such a program would be a way into that user's account for whoever can start
 * it.
 *
 * The calls that give a file its mode are refused when one of the bits is in it (EPERM). Of those
 * that the filter cannot look into, openat2 and io_uring, there are none (ENOSYS). A filter sees no
 * file, only the mode: a directory's set-group-ID bit is refused by chmod too; mkdir(2) ignores it,
 * and the one that a directory inherits stays. The bits that a file has already go at the first
 * write, by the kernel.
 */
#ifndef BACKEND_PARTS_MODE_FILTER_H
#define BACKEND_PARTS_MODE_FILTER_H

#include "base/error.h"

/* The compiled filter as a file, from its beginning, for bwrap's --seccomp. The caller closes fd.
 */
int mode_filter_open(int *fd, struct error *err);

#endif
