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

/* Whether skopeo's error is that an index has no image for the wanted platform. */
bool oci_lacks_platform(const struct error *why);
/* text: the index as it is stored. Returns true with an ERR_UNSUPPORTED that names the platforms it
 * has; false where it tells of none. */
bool oci_complain_of_platform(const struct oci_source *source, const struct buf *text,
			      struct error *err);

#endif
