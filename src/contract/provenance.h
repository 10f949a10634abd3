/* SPDX-License-Identifier: MIT */
/* The origin of a root file system: the names of its image, as a verification block has them. */
#ifndef CONTRACT_PROVENANCE_H
#define CONTRACT_PROVENANCE_H

#include <jansson.h>

#include "base/error.h"

/*
 * Returns {imageRef?, resolvedRef?, imageDigest}, a new reference, for config.image.
 *
 * `ref` is the source of the image, from a record of the cache or of a base. If `ref` is
 * "docker://NAME", it names an image of a registry. imageRef is then the full name with registry
 * and tag ("docker.io/library/busybox:1.36"), by the rules of github.com/distribution/reference.
 * resolvedRef is the same name with the digest instead of the tag. For any other `ref`, imageRef is
 * `ref`, and resolvedRef is `ref` with the digest behind it. If `ref` has control characters (the
 * path of an archive may have some), imageRef and resolvedRef are left out.
 *
 * `digest` is "sha256:" and 64 digits: the digest of the image's manifest, or of the file if an
 * image has no manifest.
 */
json_t *provenance_new(const char *ref, const char *digest, struct error *err);

#endif
