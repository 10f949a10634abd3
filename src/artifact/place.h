/* SPDX-License-Identifier: MIT */
/*
 * A place: the lock and the scratch directory with which a command makes an entry of the cache.
 * Because of the lock, two commands with the same <what> do not work at the same time. The scratch
 * directory is empty at the start, and is removed at the end. A finished file is moved by rename()
 * from the scratch directory to the entry.
 *
 * The lock is the file <cache>/.locks/<what>, which is never unlinked. The scratch directory is
 * <cache>/tmp/<what>. A killed command leaves files in it. The next command with the same <what>
 * removes these files.
 */
#ifndef ARTIFACT_PLACE_H
#define ARTIFACT_PLACE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "store/cache.h"

struct place {
	char *cache;   /* path of the cache's root directory */
	char *dir;     /* path of the entries: <cache>/kernels or <cache>/images */
	char *scratch; /* absolute path of the scratch directory, <cache>/tmp/<what> */
	int lock;
	int dir_fd, scratch_fd, tmp_fd;
	char *what;
};

/* Opens a place. `what` names the kind of work ("kernel-build"). Waits until no other process has a
 * place with the same `what`. Meanwhile the progress line says that this program waits.
 * ERR_UNAVAILABLE: a signal asked this program to end during the wait. */
int place_open(enum cache_part part, const char *what, struct place *out, struct error *err);
/* Takes a second lock, <cache>/.locks/<name>, for the short time in which the files of the entry
 * are replaced. All commands that change entries take this lock. Returns a descriptor of the lock,
 * which the caller closes. */
int place_exclusive(const struct place *place, const char *name, struct error *err);
void place_close(struct place *place); /* removes the scratch directory and releases the lock;
				        * accepts a zeroed struct */
#define auto_place __attribute__((cleanup(place_close)))

/* Returns the path "<scratch>/<file>". The caller frees the path. */
char *place_scratch(const struct place *place, const char *file, struct error *err);
/* Opens the directory <scratch>/<name>, and makes it if it is missing. Returns its descriptor,
 * which the caller closes, or -1 with err set. */
int place_subdir(const struct place *place, const char *name, struct error *err);
/* Checks that `bytes` bytes are free on the cache's file system. If not, returns -1 with ERR_IO. */
int place_require_space(const struct place *place, uint64_t bytes, struct error *err);

/* Call the functions of store/cache_write.h for the cache of the place. place_withdraw() removes
 * the record of an entry, place_publish() adds a file to an entry, and place_record() writes the
 * record of an entry. */
int place_withdraw(const struct place *place, const char *name, struct error *err);
int place_publish(const struct place *place, const char *file, const char *name, const char *suffix,
		  struct error *err);
int place_record(const struct place *place, const char *name, const json_t *record,
		 struct error *err);
/* Reads the record of the entry with that name. Returns NULL with err set on failure. The caller
 * releases the record. */
json_t *place_read_record(const struct place *place, const char *name, struct error *err);

#endif
