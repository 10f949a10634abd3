/* SPDX-License-Identifier: MIT */
/* The initrd of a kernel that has none beside it: microagent-init and nothing else. */
#ifndef CHANNEL_OWN_INITRD_H
#define CHANNEL_OWN_INITRD_H

#include "base/architecture.h"
#include "base/error.h"
#include "store/digests.h"

/*
 * The path of the initrd that the cache has for that kernel, malloc'd. microagent-artifact makes it
 * where the cache does not have it yet, once for each build of microagent-init. ERR_NOT_FOUND with
 * REASON_NO_INITRD where <kernel>.modules exists, since that kernel cannot boot without them, and
 * where there is no microagent-init for the architecture.
 */
char *own_initrd(const char *kernel, enum architecture architecture, struct error *err);

struct own_initrd {
	char *path; /* NULL: the cache does not have it yet */
	char *init; /* the microagent-init that it is made of */
	char init_sha256[DIGEST_TEXT];
};
/* Says what own_initrd() would use, and makes nothing. It refuses the same, but for what only the
 * making shows, such as a full disk. */
int own_initrd_find(const char *kernel, enum architecture architecture, struct own_initrd *out,
		    struct error *err);
void own_initrd_free(struct own_initrd *own); /* accepts a zeroed one */

#endif
