/* SPDX-License-Identifier: MIT */
/* Where a root file system comes from: the names of its image, as a verification block has them. */
#ifndef CONTRACT_PROVENANCE_H
#define CONTRACT_PROVENANCE_H

#include <jansson.h>

#include "base/error.h"

/*
 * {imageRef?, resolvedRef?, imageDigest}, a new reference, for config.image.
 *
 * ref is the source as a record of the cache or of a base has it. "docker://NAME" is the image of a
 * registry: imageRef is that name in full, with its registry and its tag ("docker.io/library/
 * busybox:1.36"), by the rules of github.com/distribution/reference; resolvedRef is the same
 * repository with the digest in the place of the tag. Every other ref is imageRef as it stands, and
 * resolvedRef has the digest behind it. A ref with control characters, as the path of an archive
 * may be, gives neither.
 *
 * digest is "sha256:" and 64 digits: of the image's manifest, or of the file where an image has no
 * manifest.
 */
json_t *provenance_new(const char *ref, const char *digest, struct error *err);

#endif
