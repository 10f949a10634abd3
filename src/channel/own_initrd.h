/* SPDX-License-Identifier: MIT */
/* The initrd of a kernel that has none beside it: microagent-init and nothing else. */
#ifndef CHANNEL_OWN_INITRD_H
#define CHANNEL_OWN_INITRD_H

#include "base/architecture.h"
#include "base/error.h"

/*
 * The path of the initrd that the cache has for that kernel, malloc'd. microagent-artifact makes it
 * where the cache does not have it yet, once for each build of microagent-init. ERR_NOT_FOUND with
 * REASON_NO_INITRD where <kernel>.modules exists, since that kernel cannot boot without them, and
 * where there is no microagent-init for the architecture.
 */
char *own_initrd(const char *kernel, enum architecture architecture, struct error *err);

#endif
