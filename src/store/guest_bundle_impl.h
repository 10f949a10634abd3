/* SPDX-License-Identifier: MIT */
/* Declares what making and importing a guest bundle share. */
#ifndef STORE_GUEST_BUNDLE_IMPL_H
#define STORE_GUEST_BUNDLE_IMPL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/architecture.h"
#include "base/sha256.h"
#include "store/cache.h"
#include "store/guest_bundle.h"

#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_MANIFEST_BYTES (1u << 20)
#define BUNDLE_FORMAT 1

/* A file of an entry. Its name is <name><suffix>. `digest` is the key of the file's digest in the
 * entry's record. */
struct bundle_file {
	const char *suffix, *digest;
	enum cache_part part;
	bool required;
};
#define BUNDLE_FILES 4
extern const struct bundle_file bundle_files[BUNDLE_FILES];

extern const char *const bundle_parts[]; /* the names of the directories in the cache and in a
					  * bundle; the index is an enum cache_part */

/* Tells the caller, through `watch`, the name of the file that is being read. ERR_UNAVAILABLE: the
 * caller has cancelled the work. */
int bundle_look(const struct guest_bundle_watch *watch, const char *file, struct error *err);
/* Computes the digest of a whole open file, from its beginning. `file` is the file's name for
 * `watch`. */
int bundle_hash(int fd, const struct guest_bundle_watch *watch, const char *file,
		char out[SHA256_TEXT], struct error *err);
/* Reads the record of an entry of the cache. `path` is the path of the record's file, without
 * ".json", relative to the directory `dir`. The caller releases the record. */
json_t *bundle_record(int dir, const char *path, struct error *err);
/* Returns an element of the member "entries" of the answer: an object with "part", "name",
 * "architecture" and "sha256". The caller releases the object. */
json_t *bundle_tell(enum cache_part part, const char *name, const json_t *record,
		    struct error *err);
/* Returns the answer of making or importing a bundle (guest_bundle.h), which the caller releases.
 * The caller keeps its reference to `entries`. */
json_t *bundle_answer(const char *path, const char sha256[SHA256_TEXT], json_t *entries,
		      struct error *err);

#endif
