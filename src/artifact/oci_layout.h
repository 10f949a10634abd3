/* SPDX-License-Identifier: MIT */
/* Checks or copies the files of an OCI layout before skopeo opens them. */
#ifndef ARTIFACT_OCI_LAYOUT_H
#define ARTIFACT_OCI_LAYOUT_H

#include <stdint.h>

#include "base/error.h"

/* Returns -1 with ERR_INVALID if something that should be a regular file is none, or if there are
 * more than LIMIT_IMAGE_BLOBS. A FIFO, for example, blocks a program that opens it. Missing files
 * are left to skopeo. */
int oci_layout_check(const char *path, struct error *err);
/* Copies the layout into the new directory `name` of dirfd. Errors are those of oci_layout_check(),
 * and that of tool_room_exceeded() if all files together are longer than room. */
int oci_layout_copy(const char *path, int dirfd, const char *name, uint64_t room,
		    struct error *err);
/* Copies an archive, which is one file, into dirfd under name. Errors are the same as for a layout.
 */
int oci_archive_copy(const char *path, int dirfd, const char *name, uint64_t room,
		     struct error *err);

#endif
