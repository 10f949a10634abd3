/* SPDX-License-Identifier: MIT */
/* What skopeo says of an image, made for who named the image. */
#ifndef ARTIFACT_OCI_COMPLAINT_H
#define ARTIFACT_OCI_COMPLAINT_H

#include "artifact/oci_source.h"

/*
 * Makes of err, which tool_run() set for skopeo, one that speaks of the source as its user does. A
 * layout or an archive of several images of which none or an unknown one was named has them listed
 * (ERR_INVALID, ERR_NOT_FOUND). Returns -1.
 */
int oci_complain(const struct oci_source *source, struct error *err);

#endif
