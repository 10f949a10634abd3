/* SPDX-License-Identifier: MIT */
/* Functions that making and importing a guest bundle share. */
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

/* A file of an entry: its name is <name><suffix>, and `digest` names the member of the record that
 * has the file's digest. */
struct bundle_file {
	const char *suffix, *digest;
	enum cache_part part;
	bool required;
};
#define BUNDLE_FILES 4
extern const struct bundle_file bundle_files[BUNDLE_FILES];

extern const char *const bundle_parts[]; /* the name of the directory of each part */

/* Tells the caller of the work (`watch`) which file is worked on now. ERR_UNAVAILABLE: the work was
 * given up. */
int bundle_look(const struct guest_bundle_watch *watch, const char *file, struct error *err);
/* Computes the digest of a whole open file from its beginning. `file` is the name of the file for
 * `watch`. */
int bundle_hash(int fd, const struct guest_bundle_watch *watch, const char *file,
		char out[SHA256_TEXT], struct error *err);
/* Reads the record of an entry of the cache. `path` is the path of the record's file below `dir`,
 * without ".json". The caller releases the result. */
json_t *bundle_record(int dir, const char *path, struct error *err);
/* Returns one of the answer's "entries": an object with "part", "name", "architecture" and
 * "sha256". The caller releases it. */
json_t *bundle_tell(enum cache_part part, const char *name, const json_t *record,
		    struct error *err);
/* Returns the answer of making or importing a bundle (guest_bundle.h). `entries` stays the
 * caller's. The caller releases the result. */
json_t *bundle_answer(const char *path, const char sha256[SHA256_TEXT], json_t *entries,
		      struct error *err);

#endif
