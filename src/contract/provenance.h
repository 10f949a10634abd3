/* SPDX-License-Identifier: MIT */
/* Where a root file system comes from: the names of its image, as a verification block has them. */
#ifndef CONTRACT_PROVENANCE_H
#define CONTRACT_PROVENANCE_H

#include <jansson.h>

#include "base/error.h"

/*
 * Returns {imageRef?, resolvedRef?, imageDigest}, a new reference, for config.image.
 *
 * ref is the source as a record of the cache or of a base has it. "docker://NAME" is the image of a
 * registry: imageRef is then the full name with registry and tag
 * ("docker.io/library/busybox:1.36"), by the rules of github.com/distribution/reference, and
 * resolvedRef is the same repository with the digest instead of the tag. Every other ref is an
 * imageRef without a change, and resolvedRef has the digest behind it. If ref has control
 * characters, which are possible in the path of an archive, both are left out.
 *
 * digest is "sha256:" and 64 digits: the digest of the image's manifest, or of the file if an image
 * has no manifest.
 */
json_t *provenance_new(const char *ref, const char *digest, struct error *err);

#endif
