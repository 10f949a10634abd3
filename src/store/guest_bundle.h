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
 * architecture. Each record must be one that the cache can read. Everything is checked before
 * anything is published. The digests in the manifest prove that the files belong to the manifest.
 * The manifest is recognised by its own digest. guest_bundle_make() returns this digest, and
 * guest_bundle_import() may require it.
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
	/* Names in the cache, or kinds of kernels. If no kernel is named, the default kernel is
	 * taken; the same holds for images. */
	const char *const *kernels, *const *images;
	size_t kernel_count, image_count;
	/* The architecture of the machines. ARCHITECTURE_COUNT: every architecture for which the
	 * cache has the entry. */
	enum architecture architecture;
};

/* The means by which a caller watches and cancels work that takes seconds. */
struct guest_bundle_watch {
	/* A descriptor. When it becomes readable, the work is given up with ERR_UNAVAILABLE, and
	 * all files that were made are removed. -1: none. */
	int cancel;
	void (*at)(void *data, const char *file); /* called with the present file at each MiB */
	void *data;
};

/* Makes the bundle's directory, which must not exist yet. *out is an object: "path", "sha256" (the
 * digest of the manifest) and "entries". The caller releases *out. */
int guest_bundle_make(const char *dir, const struct guest_bundle_spec *spec,
		      const struct guest_bundle_watch *watch, json_t **out, struct error *err);
/* Imports the entries of the bundle for that architecture. `sha256` is the digest that the manifest
 * must have; NULL: not required. *out is as for guest_bundle_make(). */
int guest_bundle_import(const char *dir, enum architecture architecture, const char *sha256,
			const struct guest_bundle_watch *watch, json_t **out, struct error *err);

#endif
