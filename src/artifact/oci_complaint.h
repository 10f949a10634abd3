/* SPDX-License-Identifier: MIT */
/* Rewrites errors of skopeo for the user who named the image. */
#ifndef ARTIFACT_OCI_COMPLAINT_H
#define ARTIFACT_OCI_COMPLAINT_H

#include "artifact/oci_source.h"

/*
 * Changes err, which tool_run() set for skopeo, to an error that names the source as the user does.
 * If a layout or an archive has several images, and the user named none or an unknown one, the
 * error lists them (ERR_INVALID, ERR_NOT_FOUND). Returns -1.
 */
int oci_complain(const struct oci_source *source, struct error *err);

/* Returns true if skopeo's error says that an index has no image for the wanted platform. */
bool oci_lacks_platform(const struct error *why);
/* Names the platforms of an index. text: the index as it is stored. Returns true with
 * ERR_UNSUPPORTED, or false if the index names no platform. */
bool oci_complain_of_platform(const struct oci_source *source, const struct buf *text,
			      struct error *err);

#endif
