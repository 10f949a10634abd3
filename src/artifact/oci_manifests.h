/* SPDX-License-Identifier: MIT */
/*
 * The manifests that a source (oci_source.h) has for the name of an image. They are read before any
 * other part of the image is fetched. An image is identified by the digest of its manifest, which
 * has the digests of the layers. So if the cache has an entry that records this digest, the entry
 * was made from exactly the same layers, whatever source they came from.
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

/* Stores the digests of the manifests in `text`. `text` is the document that the source has for the
 * name of the image: a manifest, or an index. Of an index only the manifests count that are for
 * linux on that architecture, or that name no platform. */
int oci_manifests_read(const struct buf *text, enum architecture architecture,
		       struct oci_manifests *out, struct error *err);
bool oci_manifests_have(const struct oci_manifests *list, const char *sha256);

/* Returns -1 with ERR_INVALID if the image's name contains a digest, "NAME@sha256:...", that is not
 * the digest of `text`. */
int oci_manifests_check_name(const char *name, const struct buf *text, struct error *err);

#endif
