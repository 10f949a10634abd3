/* SPDX-License-Identifier: MIT */
/*
 * Remembers the digests of files in the directory digests/ of the cache. A file is identified by
 * its device, inode, size, mtime and ctime. If a file changed within the last seconds, a caller
 * should not remember its digest (see `settled`): a second change in the same tick of the clock
 * would not change the file's times, so nobody would notice it. The functions of this header
 * compute no digest.
 */
#ifndef STORE_DIGESTS_H
#define STORE_DIGESTS_H

#include <stdbool.h>

#include "base/error.h"

#define DIGEST_TEXT 65 /* 64 lower-case hexadecimal digits and NUL */

/* What a digest covers: the whole file, or the program microagent-init in an initrd. */
enum digest_part { DIGEST_FILE, DIGEST_INIT };

struct digest_key {
	char text[168];
	/* True if the last change of the file is so long ago that the next change will give the
	 * file different times. */
	bool settled;
};

/* Makes the key of the open file `fd` from its current attributes. */
int digest_key(int fd, enum digest_part part, struct digest_key *out, struct error *err);
bool digest_key_equal(const struct digest_key *a, const struct digest_key *b);
/* Returns true if `text` consists of 64 lower-case hexadecimal digits. Returns false for NULL. */
bool digest_is_valid(const char *text);
/* Writes the remembered digest of the key to `out`. If no digest is remembered, returns false and
 * does not change out. */
bool digest_recall(const struct digest_key *key, char out[DIGEST_TEXT]);
/* Remembers a digest. A failure is not reported, because its only consequence is that the digest
 * must be computed again. */
void digest_remember(const struct digest_key *key, const char *digest);
/*
 * Remembers the digest of a copy if the digest of its source is remembered. `clone_fd` is an exact
 * copy of the file `from_fd`. The caller has just made this copy in a new file that was open in no
 * other process. `before` is the source's key from before the copy began. If the source's key has
 * changed, the source changed during the copy, and nothing is remembered. Digests of new files are
 * usually not remembered. The digest of this copy can be remembered, because no other process can
 * have written to the copy.
 */
void digest_remember_clone(const struct digest_key *before, int from_fd, int clone_fd);

#endif
