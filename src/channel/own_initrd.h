/* SPDX-License-Identifier: MIT */
/* The initrd for a kernel that has no initrd beside it. This initrd holds only microagent-init. */
#ifndef CHANNEL_OWN_INITRD_H
#define CHANNEL_OWN_INITRD_H

#include "base/architecture.h"
#include "base/error.h"
#include "store/digests.h"

/*
 * Returns the path of an initrd in the cache, malloc'd. This initrd holds only microagent-init. If
 * the cache does not have the initrd yet, microagent-artifact makes it, once for each build of
 * microagent-init. ERR_NOT_FOUND with REASON_NO_INITRD in two cases: <kernel>.modules exists, so
 * the kernel cannot boot without its modules; or there is no microagent-init for the architecture.
 */
char *own_initrd(const char *kernel, enum architecture architecture, struct error *err);

struct own_initrd {
	char *path; /* path of the initrd; NULL: the cache does not have the initrd yet */
	char *init; /* path of the microagent-init from which the initrd is made */
	char init_sha256[DIGEST_TEXT];
};
/* Finds the initrd that own_initrd() would return, but does not make it. Fails in the same cases as
 * own_initrd(), except in cases that arise only when the initrd is made, such as a full disk. */
int own_initrd_find(const char *kernel, enum architecture architecture, struct own_initrd *out,
		    struct error *err);
void own_initrd_free(struct own_initrd *own); /* accepts a zeroed struct */

#endif
