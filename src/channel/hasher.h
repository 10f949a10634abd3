/* SPDX-License-Identifier: MIT */
/* SHA-256 of files: remembered (store/digests.h), or else computed by microagent-artifact, which is
 * run only then. */
#ifndef CHANNEL_HASHER_H
#define CHANNEL_HASHER_H

#include "base/error.h"
#include "store/digests.h"

/* Computes the digest of the whole file behind fd, or of a part of it; fd's offset does not change.
 * Lower-case hex; "" for DIGEST_INIT of an initrd in which no init is found. */
int digest_of(int fd, enum digest_part part, char out[DIGEST_TEXT], struct error *err);

/* Makes digest_of() in this thread end with ERR_UNAVAILABLE when fd is readable, or at its end; -1:
 * never. Returns the former descriptor, which the caller sets again. */
int digest_cancel_by(int fd);
/* Sets a second such descriptor. */
void digest_cancel_also_by(int fd);

/* Returns microagent-artifact: beside this executable, else its bare name, for PATH. malloc'd. */
char *hasher_program(struct error *err);

#endif
