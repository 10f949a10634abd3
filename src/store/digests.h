/* SPDX-License-Identifier: MIT */
/*
 * A memory of the digests of files: digests/ in the cache directory. A file is known by its device,
 * inode, size, mtime and ctime. A caller should not remember the digest of a file that changed
 * within the last seconds (see `settled`): a further change in the same tick of the clock would
 * leave the same times, and go unnoticed. The functions of this header compute no digest.
 */
#ifndef STORE_DIGESTS_H
#define STORE_DIGESTS_H

#include <stdbool.h>

#include "base/error.h"

#define DIGEST_TEXT 65 /* 64 lower-case hexadecimal digits and NUL */

/* The part of a file that is hashed: the whole file, or the microagent-init in an initrd. */
enum digest_part { DIGEST_FILE, DIGEST_INIT };

struct digest_key {
	char text[168];
	/* The last change of the file is so long ago that a further change gives it other times. */
	bool settled;
};

/* Makes the key of the file behind `fd` as the file is now. */
int digest_key(int fd, enum digest_part part, struct digest_key *out, struct error *err);
bool digest_key_equal(const struct digest_key *a, const struct digest_key *b);
/* Returns whether `text` is 64 lower-case hexadecimal digits. Returns false for NULL. */
bool digest_is_valid(const char *text);
/* Writes the remembered digest of the key to `out`. Returns false if none is remembered, and leaves
 * out unchanged then. */
bool digest_recall(const struct digest_key *key, char out[DIGEST_TEXT]);
/* Remembers a digest. A failure is not reported: its only effect is that the digest is computed
 * again the next time. */
void digest_remember(const struct digest_key *key, const char *digest);
/*
 * Remembers the digest of a copy if the digest of its source is remembered. `clone_fd` is an exact
 * copy of the file behind `from_fd`. The caller has just made the copy in a new file that nobody
 * else has had open. `before` is the source's key from before the copy began. If the source has
 * another key now, it changed during the copy, and nothing is remembered. The digest is remembered
 * although the copy is young, since only its maker can have written to it.
 */
void digest_remember_clone(const struct digest_key *before, int from_fd, int clone_fd);

#endif
