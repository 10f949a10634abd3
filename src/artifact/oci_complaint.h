/* SPDX-License-Identifier: MIT */
/* Rewrites errors of skopeo, so that they name the image as the user has named it. */
#ifndef ARTIFACT_OCI_COMPLAINT_H
#define ARTIFACT_OCI_COMPLAINT_H

#include "artifact/oci_source.h"

/*
 * Changes `err`, which tool_run() set for skopeo, to an error that names the source as the user
 * does. If a layout or an archive has several images, and the user named none or an unknown one,
 * the error lists them (ERR_INVALID, ERR_NOT_FOUND). Returns -1.
 */
int oci_complain(const struct oci_source *source, struct error *err);

/* Returns true if skopeo's error says that an index has no image for the wanted platform. */
bool oci_lacks_platform(const struct error *why);
/* Sets ERR_UNSUPPORTED, whose message lists the platforms that an index has an image for, and
 * returns true. `text`: the index as it is stored. Returns false, with `err` unchanged, if the
 * index names no platform. */
bool oci_complain_of_platform(const struct oci_source *source, const struct buf *text,
			      struct error *err);

#endif
