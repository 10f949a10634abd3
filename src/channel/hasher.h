/* SPDX-License-Identifier: MIT */
/* SHA-256 of files: remembered (store/digests.h), else computed by microagent-artifact, which is
 * run only then. */
#ifndef CHANNEL_HASHER_H
#define CHANNEL_HASHER_H

#include "base/error.h"
#include "store/digests.h"

/* The whole file behind fd, or a part of it; fd's offset is left alone. Lower-case hex; ""
 * for DIGEST_INIT of an initrd in which no init is to be seen. */
int digest_of(int fd, enum digest_part part, char out[DIGEST_TEXT], struct error *err);

/* When fd is readable, or at its end, digest_of() of this thread ends with ERR_UNAVAILABLE; -1:
 * never. Returns what was set before, to be set again. */
int digest_cancel_by(int fd);
/* The same of a second one. */
void digest_cancel_also_by(int fd);

/* microagent-artifact: beside this executable, else its bare name, for PATH. malloc'd. */
char *hasher_program(struct error *err);

#endif
