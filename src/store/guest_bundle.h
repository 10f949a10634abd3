/* SPDX-License-Identifier: MIT */
/*
 * A guest bundle: the kernels and images that a host needs to run Linux guests if it cannot build
 * them. The bundle is made on a host that can build them. It is a directory with these files:
 *
 *   manifest.json         the entries: the record, and the size and digest of each file
 *                         (schema/guest-bundle.json)
 *   kernels/, images/     the files, named as in the cache
 *
 * The import trusts nothing in a bundle. A name must be one that the cache allows. Each file is
 * copied first, and the digest is computed from the copy. A kernel must be of the stated
 * architecture. The cache must be readable with each record. Everything is checked before anything
 * is published. The digests in the manifest prove that the files belong to the manifest. The
 * manifest itself is known by its own digest: the maker tells that digest, and the importer may
 * require it.
 */
#ifndef STORE_GUEST_BUNDLE_H
#define STORE_GUEST_BUNDLE_H

#include <jansson.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

#define GUEST_BUNDLE_DIGEST 65 /* with its NUL */

/* The contents of a new bundle: names of the cache, or kinds. Without names, the defaults. Each
 * entry is for machines of the architecture; ARCHITECTURE_COUNT: each architecture for which the
 * cache has the entry. */
struct guest_bundle_spec {
	const char *const *kernels, *const *images;
	size_t kernel_count, image_count;
	enum architecture architecture;
};

/* The means by which a caller watches and cancels work that takes seconds. */
struct guest_bundle_watch {
	/* Readable: the work is given up with ERR_UNAVAILABLE, and nothing is left; -1: never. */
	int cancel;
	void (*at)(void *data, const char *file); /* called with the present file at each MiB */
	void *data;
};

/* Makes the bundle's directory, which must not exist yet. *out is {"path", "sha256" of the
 * manifest, "entries"}. */
int guest_bundle_make(const char *dir, const struct guest_bundle_spec *spec,
		      const struct guest_bundle_watch *watch, json_t **out, struct error *err);
/* Imports the entries of the bundle for that architecture. sha256 is the digest that the manifest
 * must have; NULL: not required. *out is as for guest_bundle_make(). */
int guest_bundle_import(const char *dir, enum architecture architecture, const char *sha256,
			const struct guest_bundle_watch *watch, json_t **out, struct error *err);

#endif
