/* SPDX-License-Identifier: MIT */
/*
 * Publishes an entry of the cache. First the record of an older entry with the same name is
 * removed. Then the files are moved from a scratch directory by rename. Last, the record is
 * written. So a reader sees either no entry or a complete entry.
 */
#ifndef STORE_CACHE_WRITE_H
#define STORE_CACHE_WRITE_H

#include <jansson.h>

#include "base/error.h"

/* The directory in which an entry is made (`scratch`), and the directory to which the entry is
 * moved (`dir`). */
struct cache_writing {
	const char *dir, *scratch; /* paths of the two directories, for messages */
	int dir_fd, scratch_fd;
};

/* Removes the record of an entry. Succeeds if there is no such record. */
int cache_withdraw(const struct cache_writing *w, const char *name, struct error *err);
/* Moves the file <scratch>/<file> to <dir>/<name><suffix>. First syncs the file to the disk, and
 * makes it read-only, because many workspaces will use it. */
int cache_publish(const struct cache_writing *w, const char *file, const char *name,
		  const char *suffix, struct error *err);
int cache_record(const struct cache_writing *w, const char *name, const json_t *record,
		 struct error *err);

#endif
