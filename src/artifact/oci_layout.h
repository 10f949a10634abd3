/* SPDX-License-Identifier: MIT */
/* The files of an OCI layout, looked at or copied before skopeo opens them. */
#ifndef ARTIFACT_OCI_LAYOUT_H
#define ARTIFACT_OCI_LAYOUT_H

#include <stdint.h>

#include "base/error.h"

/* ERR_INVALID where what is to be a file is none, as a FIFO, which holds up whoever opens it; or where
 * there is more than LIMIT_IMAGE_BLOBS. What is missing is left to skopeo. */
int oci_layout_check(const char *path, struct error *err);
/* Copies the layout into the new directory `name` of dirfd. Errors are those of oci_layout_check(), and
 * those of tool_room_exceeded() where its files are longer than room in all. */
int oci_layout_copy(const char *path, int dirfd, const char *name, uint64_t room,
		    struct error *err);
/* The same of an archive, which is one file. */
int oci_archive_copy(const char *path, int dirfd, const char *name, uint64_t room,
		     struct error *err);

#endif
