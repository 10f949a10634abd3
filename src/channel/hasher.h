/* SPDX-License-Identifier: MIT */
/* SHA-256 of files. The digest of a file is taken from the remembered digests (store/digests.h). If
 * the digest is not remembered, microagent-artifact is run to compute it. */
#ifndef CHANNEL_HASHER_H
#define CHANNEL_HASHER_H

#include "base/error.h"
#include "store/digests.h"

/* Stores the digest of the whole file behind `fd`, or of a part of it, in lower-case hex. Stores ""
 * for DIGEST_INIT if no init is found in the initrd. The offset of `fd` does not change.
 * ERR_UNAVAILABLE if the work was cancelled, ERR_TIMEOUT after LIMIT_DIGEST_MS. */
int digest_of(int fd, enum digest_part part, char out[DIGEST_TEXT], struct error *err);

/* Makes digest_of() in this thread fail with ERR_UNAVAILABLE when the descriptor `fd` is readable
 * or at its end; -1: no descriptor. Returns the descriptor that was set before, which the caller
 * must set again afterwards. */
int digest_cancel_by(int fd);
/* Sets a second descriptor that cancels digest_of() like the descriptor of digest_cancel_by(). */
void digest_cancel_also_by(int fd);

/* Returns the path of microagent-artifact as program_find() does; if the program is not found,
 * returns its bare name. The result is malloc'd. */
char *hasher_program(struct error *err);

#endif
