/* SPDX-License-Identifier: MIT */
/*
 * Writes a segment of an initramfs: a cpio archive in the newc format. The same contents always
 * give the same bytes, because the owner is always root, the time is always 0, and inodes are
 * numbered in order. The caller adds entries in sorted order, each directory before its contents.
 * An initramfs can consist of several segments, one after the other.
 */
#ifndef ARTIFACT_CPIO_H
#define ARTIFACT_CPIO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct cpio;

/* Starts a segment at the position of `fd`. The caller closes `fd` after cpio_close() or
 * cpio_abandon(). */
struct cpio *cpio_open(int fd, struct error *err);
/* Adds a directory. Its name is a path relative to the root, such as "lib/modules". */
int cpio_dir(struct cpio *cpio, const char *name, mode_t mode, struct error *err);
/* Adds a symbolic link to `target`. */
int cpio_link(struct cpio *cpio, const char *name, const char *target, struct error *err);
/* Adds a regular file with `len` bytes of data. */
int cpio_bytes(struct cpio *cpio, const char *name, mode_t mode, const void *data, size_t len,
	       struct error *err);
/* Adds a regular file with the bytes of `fd` from its position to its end. */
int cpio_file(struct cpio *cpio, const char *name, mode_t mode, int fd, struct error *err);
/* Writes the trailer of the segment. Frees `cpio`, also on failure. */
int cpio_close(struct cpio *cpio, struct error *err);
void cpio_abandon(struct cpio *cpio); /* frees cpio without writing a trailer; accepts NULL */

#endif
