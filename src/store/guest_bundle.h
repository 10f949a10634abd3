/* SPDX-License-Identifier: MIT */
/*
 * A guest bundle: kernels and images for a host that cannot build them. Another host, which can
 * build them, makes the bundle. A bundle is a directory with these files:
 *
 *   manifest.json         the entries: the record, and the size and digest of each file
 *                         (schema/guest-bundle.json)
 *   kernels/, images/     the files, with their names in the cache
 *
 * The import trusts nothing in a bundle. The name of an entry must be allowed in the cache. Each
 * file is copied first, and the digest is computed from the copy. A kernel must be for the recorded
 * architecture. Each record must be readable for the cache. Everything is checked before anything
 * is published. The digests in the manifest prove that the files belong to the manifest.
 * guest_bundle_make() returns the digest of the manifest itself, and guest_bundle_import() can be
 * told which digest the manifest must have.
 */
#ifndef STORE_GUEST_BUNDLE_H
#define STORE_GUEST_BUNDLE_H

#include <jansson.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

/* The size of a digest as text, with its NUL. */
#define GUEST_BUNDLE_DIGEST 65

/* The contents of a new bundle. */
struct guest_bundle_spec {
	/* The entries that the bundle gets: names in the cache, or kinds of kernels. If no kernel
	 * is named, the bundle gets the default kernel. If no image is named, it gets the default
	 * image. */
	const char *const *kernels, *const *images;
	size_t kernel_count, image_count;
	/* The architecture of the machines for which the bundle is made. ARCHITECTURE_COUNT: every
	 * architecture for which the cache has the entry. */
	enum architecture architecture;
};

/* How a caller watches and cancels the work, which takes seconds. */
struct guest_bundle_watch {
	/* Descriptor that cancels the work: when it becomes readable, the work fails with
	 * ERR_UNAVAILABLE, and all new files are removed. -1: nothing cancels the work. */
	int cancel;
	void (*at)(void *data, const char *file); /* called at each MiB of the current file, with
						   * the name of this file */
	void *data;
};

/* Makes the bundle in the directory `dir`, which must not exist yet. Sets *out to an object with
 * "path", "sha256" (the digest of the manifest) and "entries". The caller releases *out. */
int guest_bundle_make(const char *dir, const struct guest_bundle_spec *spec,
		      const struct guest_bundle_watch *watch, json_t **out, struct error *err);
/* Imports those entries of the bundle that are for the architecture. `sha256` is the digest that
 * the manifest must have; NULL: any digest. Sets *out to an object like that of
 * guest_bundle_make(). The caller releases *out. */
int guest_bundle_import(const char *dir, enum architecture architecture, const char *sha256,
			const struct guest_bundle_watch *watch, json_t **out, struct error *err);

#endif
