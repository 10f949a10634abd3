/* SPDX-License-Identifier: MIT */
/* The files of an OCI layout, looked at before skopeo opens them. */
#ifndef ARTIFACT_OCI_LAYOUT_H
#define ARTIFACT_OCI_LAYOUT_H

#include "base/error.h"

/* ERR_INVALID where what is to be a file is none, as a FIFO, which holds up whoever opens it; or where
 * there is more than LIMIT_IMAGE_BLOBS. What is missing is left to skopeo. */
int oci_layout_check(const char *path, struct error *err);

#endif
