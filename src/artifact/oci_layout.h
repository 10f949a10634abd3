/* SPDX-License-Identifier: MIT */
/* Checks or copies the files of an OCI layout, before skopeo opens them. */
#ifndef ARTIFACT_OCI_LAYOUT_H
#define ARTIFACT_OCI_LAYOUT_H

#include <stdint.h>

#include "base/error.h"

/* Checks the files of a layout. ERR_INVALID: a file that should be a regular file is of another
 * type, or the layout has more than LIMIT_IMAGE_BLOBS blobs. (A FIFO, for example, would block
 * skopeo.) A missing file is not an error here, because skopeo reports it later. */
int oci_layout_check(const char *path, struct error *err);
/* Copies the layout into a new directory `name` in the directory `dirfd`. The errors are those of
 * oci_layout_check(), and that of tool_room_exceeded() if all files together have more than `room`
 * bytes. */
int oci_layout_copy(const char *path, int dirfd, const char *name, uint64_t room,
		    struct error *err);
/* Copies an archive, which is one file, to the file `name` in the directory `dirfd`. The errors are
 * those of oci_layout_copy(). */
int oci_archive_copy(const char *path, int dirfd, const char *name, uint64_t room,
		     struct error *err);

#endif
