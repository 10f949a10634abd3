/* SPDX-License-Identifier: MIT */
/* The initrd of a kernel that has none beside it: it holds microagent-init and nothing else. */
#ifndef CHANNEL_OWN_INITRD_H
#define CHANNEL_OWN_INITRD_H

#include "base/architecture.h"
#include "base/error.h"
#include "store/digests.h"

/*
 * Returns the path of the initrd that the cache has for that kernel, malloc'd. If the cache does
 * not have it yet, microagent-artifact makes it, once for each build of microagent-init.
 * ERR_NOT_FOUND with REASON_NO_INITRD if <kernel>.modules exists, since that kernel cannot boot
 * without its modules, and if there is no microagent-init for the architecture.
 */
char *own_initrd(const char *kernel, enum architecture architecture, struct error *err);

struct own_initrd {
	char *path; /* NULL: the cache does not have it yet */
	char *init; /* the microagent-init from which it is made */
	char init_sha256[DIGEST_TEXT];
};
/* Finds what own_initrd() would use, and makes nothing. It fails in the same cases, except those
 * that only the making shows, such as a full disk. */
int own_initrd_find(const char *kernel, enum architecture architecture, struct own_initrd *out,
		    struct error *err);
void own_initrd_free(struct own_initrd *own); /* accepts a zeroed one */

#endif
