/* SPDX-License-Identifier: MIT */
/* Checks or copies the files of an OCI layout before skopeo opens them. */
#ifndef ARTIFACT_OCI_LAYOUT_H
#define ARTIFACT_OCI_LAYOUT_H

#include <stdint.h>

#include "base/error.h"

/* Returns -1 with ERR_INVALID if a file of the layout that should be a regular file is of another
 * type, or if the layout has more than LIMIT_IMAGE_BLOBS blobs. (A FIFO, for example, would block
 * skopeo when skopeo opens it.) A missing file is no error here; skopeo then fails. */
int oci_layout_check(const char *path, struct error *err);
/* Copies the layout into a new directory `name` in `dirfd`. Fails like oci_layout_check(). Also
 * fails like tool_room_exceeded() if all files together have more than `room` bytes. */
int oci_layout_copy(const char *path, int dirfd, const char *name, uint64_t room,
		    struct error *err);
/* Copies an archive, which is one file, to `name` in `dirfd`. Fails like oci_layout_copy(). */
int oci_archive_copy(const char *path, int dirfd, const char *name, uint64_t room,
		     struct error *err);

#endif
