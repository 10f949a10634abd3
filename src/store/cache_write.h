/* SPDX-License-Identifier: MIT */
/*
 * An entry of the cache is published in this order: the record of an older one of that name goes,
 * then the files come from a scratch directory by rename, then the record. So a reader sees no
 * entry or a whole one.
 */
#ifndef STORE_CACHE_WRITE_H
#define STORE_CACHE_WRITE_H

#include <jansson.h>

#include "base/error.h"

/* Where an entry is made and where it goes; the paths are for people. */
struct cache_writing {
	const char *dir, *scratch;
	int dir_fd, scratch_fd;
};

int cache_withdraw(const struct cache_writing *w, const char *name, struct error *err);
/* scratch/<file> becomes <dir>/<name><suffix>, read-only as every workspace shares it, and is on
 * the disk before. */
int cache_publish(const struct cache_writing *w, const char *file, const char *name,
		  const char *suffix, struct error *err);
int cache_record(const struct cache_writing *w, const char *name, const json_t *record,
		 struct error *err);

#endif
