/* SPDX-License-Identifier: MIT */
/*
 * The manifests by which a source names an image, before anything of it is fetched. An image is
 * known by the digest of its manifest, which names the layers as they are stored: what is recorded
 * under one was made of these bytes, whoever had them.
 */
#ifndef ARTIFACT_OCI_MANIFESTS_H
#define ARTIFACT_OCI_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/buf.h"
#include "base/error.h"

#define OCI_MANIFESTS_MAX 64

struct oci_manifests {
	char sha256[OCI_MANIFESTS_MAX][DIGEST_TEXT];
	size_t count;
};

/* text: what the source has under the image's name. That is its manifest, or an index, and then
 * those count that it has for linux on that architecture: one that names no platform may be one. */
int oci_manifests_read(const struct buf *text, enum architecture architecture,
		       struct oci_manifests *out, struct error *err);
bool oci_manifests_have(const struct oci_manifests *list, const char *sha256);

/* ERR_INVALID where the image's name has a digest in it, "NAME@sha256:...", which is not text's. */
int oci_manifests_check_name(const char *name, const struct buf *text, struct error *err);

#endif
