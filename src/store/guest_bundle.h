/* SPDX-License-Identifier: MIT */
/*
 * A guest bundle: what a host that builds none of it needs to run Linux guests, made where it can
 * be built. A directory with
 *
 *   manifest.json         the entries: record, and size and digest of each file
 * (schema/guest-bundle.json) kernels/, images/     the files, called as in the cache
 *
 * Who takes it in believes nothing of it: names are the cache's own, each file is copied first and
 * the copy hashed, a kernel must be one of the architecture that is said, and a record one that the
 * cache can be read with. All of it is looked at before any of it is published. What the digests
 * say is that the files are those of the manifest; whose the manifest is, its own digest says,
 * which the maker tells and the taker may ask for.
 */
#ifndef STORE_GUEST_BUNDLE_H
#define STORE_GUEST_BUNDLE_H

#include <jansson.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

#define GUEST_BUNDLE_DIGEST 65 /* with its NUL */

/* Names of the cache, or kinds; without any, the defaults. Each for machines of that architecture;
 * ARCHITECTURE_COUNT: of each that the cache has it for. */
struct guest_bundle_spec {
	const char *const *kernels, *const *images;
	size_t kernel_count, image_count;
	enum architecture architecture;
};

/* Of what takes seconds, who waits. */
struct guest_bundle_watch {
	int cancel; /* readable: it is given up (ERR_UNAVAILABLE), and nothing is left; -1: never */
	void (*at)(void *data, const char *file); /* what is looked at, at each MiB of it */
	void *data;
};

/* Makes the directory, which must not be there. *out: {"path", "sha256" of the manifest,
 * "entries"}. */
int guest_bundle_make(const char *dir, const struct guest_bundle_spec *spec,
		      const struct guest_bundle_watch *watch, json_t **out, struct error *err);
/* Takes in what the bundle has for that architecture. sha256: what the manifest's must be; NULL:
 * not asked for. *out as above. */
int guest_bundle_import(const char *dir, enum architecture architecture, const char *sha256,
			const struct guest_bundle_watch *watch, json_t **out, struct error *err);

#endif
