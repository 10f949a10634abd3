/* SPDX-License-Identifier: MIT */
/*
 * The manifests that a source (oci_source.h) has for the name of an image. The manifests are read
 * before anything else of the image is fetched. An image is identified by the digest of its
 * manifest, because the manifest has the digests of the layers. So an entry of the cache with this
 * digest in its record was made from exactly these layers, from whatever source they came.
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

/* Stores the digests of the manifests in a document. `text` is the document that the source has for
 * the name of the image: a manifest or an index. In an index, a manifest counts if it is for linux
 * on that architecture, or if it names no platform. */
int oci_manifests_read(const struct buf *text, enum architecture architecture,
		       struct oci_manifests *out, struct error *err);
bool oci_manifests_have(const struct oci_manifests *list, const char *sha256);

/* Checks the digest in an image's name of the form "NAME@sha256:...". ERR_INVALID: it is not the
 * digest of `text`. A name without a digest is accepted. */
int oci_manifests_check_name(const char *name, const struct buf *text, struct error *err);

#endif
