/* SPDX-License-Identifier: MIT */
/*
 * Publishing an entry of the cache. First the record of an older entry of that name is removed.
 * Then the files are renamed from a scratch directory. Then the record is written. So a reader sees
 * no entry or a whole one.
 */
#ifndef STORE_CACHE_WRITE_H
#define STORE_CACHE_WRITE_H

#include <jansson.h>

#include "base/error.h"

/* The directory in which an entry is made (`scratch`), and the directory to which it is moved
 * (`dir`). */
struct cache_writing {
	const char *dir, *scratch; /* the paths, for messages */
	int dir_fd, scratch_fd;
};

/* Removes the record of an entry. Returns success if there is no such record. */
int cache_withdraw(const struct cache_writing *w, const char *name, struct error *err);
/* Moves scratch/<file> to <dir>/<name><suffix>. The file is made read-only, because every workspace
 * shares it, and it is synced to the disk before the move. */
int cache_publish(const struct cache_writing *w, const char *file, const char *name,
		  const char *suffix, struct error *err);
int cache_record(const struct cache_writing *w, const char *name, const json_t *record,
		 struct error *err);

#endif
