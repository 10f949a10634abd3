/* SPDX-License-Identifier: MIT */
/*
 * Digests of files, remembered: digests/ in the cache directory knows a file by device, inode,
 * size, mtime and ctime. It takes no file that changed within the last seconds, since a further
 * change in the same tick of the clock would go unnoticed. Nothing here hashes.
 */
#ifndef STORE_DIGESTS_H
#define STORE_DIGESTS_H

#include <stdbool.h>

#include "base/error.h"

#define DIGEST_TEXT 65 /* 64 lower-case hex digits and NUL */

/* What was hashed: all of a file, or the microagent-init in an initrd. */
enum digest_part { DIGEST_FILE, DIGEST_INIT };

struct digest_key {
	char text[168];
	bool settled; /* old enough that a later change cannot leave the same times behind */
};

/* Of the file behind fd as it is now. */
int digest_key(int fd, enum digest_part part, struct digest_key *out, struct error *err);
bool digest_key_equal(const struct digest_key *a, const struct digest_key *b);
/* Whether text is 64 lower-case hex digits. NULL is none. */
bool digest_is_valid(const char *text);
bool digest_recall(const struct digest_key *key, char out[DIGEST_TEXT]);
/* A memory that cannot be written costs time at the next look, nothing else. */
void digest_remember(const struct digest_key *key, const char *digest);
/*
 * clone_fd is a faithful copy, which the caller has just made in a new file that nobody else has
 * had, of the file behind from_fd. Where the source's digest is remembered, and before (the
 * source's key from before the copy was begun) says that it did not change meanwhile, the clone's
 * is the same: remembered although the file is young, since none but its maker can have written to
 * it.
 */
void digest_remember_clone(const struct digest_key *before, int from_fd, int clone_fd);

#endif
