/* SPDX-License-Identifier: MIT */
/* Rewrites errors of skopeo, so that they contain the user's name for the image. */
#ifndef ARTIFACT_OCI_COMPLAINT_H
#define ARTIFACT_OCI_COMPLAINT_H

#include "artifact/oci_source.h"

/*
 * Replaces the error of tool_run() for skopeo by an error with the user's name for the source. If
 * the source is a layout or an archive with several images, and the user has named no image
 * (ERR_INVALID) or an unknown one (ERR_NOT_FOUND), the new error lists the images. Returns -1.
 */
int oci_complain(const struct oci_source *source, struct error *err);

/* Returns true if skopeo failed because an index has no image for the wanted platform. */
bool oci_lacks_platform(const struct error *why);
/* Sets ERR_UNSUPPORTED with a message that lists the platforms of an index, and returns true.
 * `text` is the stored text of the index. Returns false, with err unchanged, if the index names no
 * platform. */
bool oci_complain_of_platform(const struct oci_source *source, const struct buf *text,
			      struct error *err);

#endif
