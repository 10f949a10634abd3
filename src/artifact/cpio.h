/* SPDX-License-Identifier: MIT */
/*
 * A segment of an initramfs: a newc cpio archive that is the same bytes for the same contents.
 * Owner is root, the time is 0, inode numbers count up; the caller adds entries in sorted order,
 * parents first. Segments may be put one behind the other.
 */
#ifndef ARTIFACT_CPIO_H
#define ARTIFACT_CPIO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct cpio;

/* Writes at the descriptor's position; it stays the caller's. */
struct cpio *cpio_open(int fd, struct error *err);
/* Names are relative, "lib/modules". */
int cpio_dir(struct cpio *cpio, const char *name, mode_t mode, struct error *err);
/* A symbolic link to target. */
int cpio_link(struct cpio *cpio, const char *name, const char *target, struct error *err);
int cpio_bytes(struct cpio *cpio, const char *name, mode_t mode, const void *data, size_t len,
	       struct error *err);
/* The whole of the regular file, from where fd is. */
int cpio_file(struct cpio *cpio, const char *name, mode_t mode, int fd, struct error *err);
/* Writes the trailer. Frees cpio, also on failure. */
int cpio_close(struct cpio *cpio, struct error *err);
void cpio_abandon(struct cpio *cpio); /* frees without finishing; accepts NULL */

#endif
