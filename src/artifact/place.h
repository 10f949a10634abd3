/* SPDX-License-Identifier: MIT */
/*
 * Work on one entry of the cache: a lock, so that two builders do not collide, a scratch directory
 * that is empty at the start and gone at the end, and publication by rename.
 *
 * The lock is <cache>/.locks/<what>, never unlinked; the scratch directory is <cache>/tmp/<what>.
 * What a killed run left in it is removed by the next one.
 */
#ifndef ARTIFACT_PLACE_H
#define ARTIFACT_PLACE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "store/cache.h"

struct place {
	char *cache;   /* the cache's root */
	char *dir;     /* <cache>/kernels or <cache>/images */
	char *scratch; /* <cache>/tmp/<what>; an absolute path */
	int lock;
	int dir_fd, scratch_fd, tmp_fd;
	char *what;
};

/* Waits for another run of the same `what` ("kernel-build") to end, and says so on a terminal. */
int place_open(enum cache_part part, const char *what, struct place *out, struct error *err);
/* A second lock for the moment of publication, which others than the entry's own builder take too.
 * Returns a descriptor to close. */
int place_exclusive(const struct place *place, const char *name, struct error *err);
void place_close(struct place *place); /* removes the scratch directory; accepts a zeroed one */
#define auto_place __attribute__((cleanup(place_close)))

/* "<scratch>/<file>", malloc'd. */
char *place_scratch(const struct place *place, const char *file, struct error *err);
/* Opens the directory <scratch>/<name>, and makes it where there is none; -1. */
int place_subdir(const struct place *place, const char *name, struct error *err);
/* ERR_IO unless that many bytes are free where the cache is. */
int place_require_space(const struct place *place, uint64_t bytes, struct error *err);

/* As of store/cache_write.h, of the entry that is worked on. */
int place_withdraw(const struct place *place, const char *name, struct error *err);
int place_publish(const struct place *place, const char *file, const char *name, const char *suffix,
		  struct error *err);
int place_record(const struct place *place, const char *name, const json_t *record,
		 struct error *err);
/* Reads the record of an entry of that name; NULL. */
json_t *place_read_record(const struct place *place, const char *name, struct error *err);

#endif
