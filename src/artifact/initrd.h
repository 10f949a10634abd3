/* SPDX-License-Identifier: MIT */
/* K.initrd: the kernel's modules, then microagent-init. */
#ifndef ARTIFACT_INITRD_H
#define ARTIFACT_INITRD_H

#include "artifact/place.h"
#include "base/architecture.h"
#include "base/error.h"

/*
 * Writes to fd, at its position: the segment at modules (NULL: none), then one with /init and the
 * empty directories that it mounts on. init must be a static executable of that architecture.
 */
int initrd_write(int fd, const char *init, enum architecture architecture, const char *modules,
		 struct error *err);
/* Makes INITRD_FILE in the scratch directory, in the place of an older one. */
#define INITRD_FILE "initrd"
int initrd_make(const struct place *place, const char *init, enum architecture architecture,
		const char *modules, struct error *err);

#endif
