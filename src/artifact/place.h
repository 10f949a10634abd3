/* SPDX-License-Identifier: MIT */
/*
 * The place in which a command makes an entry of the cache. A place has a lock, so that two
 * commands of the same kind do not work at the same time. A place also has a scratch directory,
 * which is empty at the start and removed at the end. A finished file is moved by rename() from the
 * scratch directory to the entry.
 *
 * The lock is <cache>/.locks/<what> and is never unlinked. The scratch directory is
 * <cache>/tmp/<what>. Files that a killed command has left in the scratch directory are removed by
 * the next command with the same <what>.
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

/* Opens a place. `what` names the kind of work ("kernel-build"). Waits until no other process has a
 * place with the same `what`, and shows on a terminal that it waits. ERR_UNAVAILABLE if a signal
 * asks this program to end during the wait. */
int place_open(enum cache_part part, const char *what, struct place *out, struct error *err);
/* Takes a second lock, <cache>/.locks/<name>, for the moment at which the entry changes. Other
 * commands that change entries take this lock too. Returns a descriptor, which the caller
 * closes. */
int place_exclusive(const struct place *place, const char *name, struct error *err);
void place_close(struct place *place); /* removes the scratch directory; accepts a zeroed one */
#define auto_place __attribute__((cleanup(place_close)))

/* Returns "<scratch>/<file>". The caller frees it. */
char *place_scratch(const struct place *place, const char *file, struct error *err);
/* Opens the directory <scratch>/<name>, and makes it if there is none. Returns -1 with an error. */
int place_subdir(const struct place *place, const char *name, struct error *err);
/* Returns -1 with ERR_IO unless that many bytes are free on the cache's file system. */
int place_require_space(const struct place *place, uint64_t bytes, struct error *err);

/* Remove an entry (withdraw), add a file to it (publish), and write its record, as the functions of
 * store/cache_write.h do. */
int place_withdraw(const struct place *place, const char *name, struct error *err);
int place_publish(const struct place *place, const char *file, const char *name, const char *suffix,
		  struct error *err);
int place_record(const struct place *place, const char *name, const json_t *record,
		 struct error *err);
/* Reads the record of the entry with that name. Returns NULL with an error. */
json_t *place_read_record(const struct place *place, const char *name, struct error *err);

#endif
