/* SPDX-License-Identifier: MIT */
/* The file K.initrd of a kernel K: the kernel's modules, then microagent-init. */
#ifndef ARTIFACT_INITRD_H
#define ARTIFACT_INITRD_H

#include "artifact/place.h"
#include "base/architecture.h"
#include "base/error.h"

/*
 * Writes an initrd at the position of `fd`: first the segment in the file `modules` (NULL: none),
 * then a segment with /init, and with the empty directories on which /init mounts file systems.
 * `init` is the path of the microagent-init that becomes /init: a static executable of that
 * architecture. Otherwise fails with ERR_INVALID.
 */
int initrd_write(int fd, const char *init, enum architecture architecture, const char *modules,
		 struct error *err);
/* Makes INITRD_FILE in the scratch directory, and replaces an older one. */
#define INITRD_FILE "initrd"
int initrd_make(const struct place *place, const char *init, enum architecture architecture,
		const char *modules, struct error *err);

#endif
