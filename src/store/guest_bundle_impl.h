/* SPDX-License-Identifier: MIT */
/* What making and taking in a guest bundle have in common. */
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

/* A file of an entry: <name><suffix>, and the member of the record that has its digest. */
struct bundle_file {
	const char *suffix, *digest;
	enum cache_part part;
	bool required;
};
#define BUNDLE_FILES 4
extern const struct bundle_file bundle_files[BUNDLE_FILES];

extern const char *const bundle_parts[]; /* the directory of each part */

/* Says what is done now. ERR_UNAVAILABLE where it was given up. */
int bundle_look(const struct guest_bundle_watch *watch, const char *file, struct error *err);
/* Of all that is in an open file, from its beginning. file: as the watch has it. */
int bundle_hash(int fd, const struct guest_bundle_watch *watch, const char *file,
		char out[SHA256_TEXT], struct error *err);
/* The record of an entry of the cache: `path` below `dir` is its file without ".json". */
json_t *bundle_record(int dir, const char *path, struct error *err);
/* An entry of an answer: {"part", "name", "architecture", "sha256"}. */
json_t *bundle_tell(enum cache_part part, const char *name, const json_t *record,
		    struct error *err);
/* The answer. entries is borrowed. */
json_t *bundle_answer(const char *path, const char sha256[SHA256_TEXT], json_t *entries,
		      struct error *err);

#endif
