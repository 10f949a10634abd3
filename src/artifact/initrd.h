/* SPDX-License-Identifier: MIT */
/* Makes the file <kernel>.initrd for a kernel. The file has first the kernel's modules, and then
 * microagent-init. */
#ifndef ARTIFACT_INITRD_H
#define ARTIFACT_INITRD_H

#include "artifact/place.h"
#include "base/architecture.h"
#include "base/error.h"

/*
 * Writes an initrd at the position of `fd`. First copies the segment in the file `modules`; NULL:
 * copies nothing. Then writes a segment with /init and the empty directories on which /init mounts
 * file systems. `init` is the path of the microagent-init that becomes /init. ERR_INVALID: the file
 * `init` is not a static executable for that architecture.
 */
int initrd_write(int fd, const char *init, enum architecture architecture, const char *modules,
		 struct error *err);
/* Makes the file INITRD_FILE in the scratch directory. An older file with this name is replaced. */
#define INITRD_FILE "initrd"
int initrd_make(const struct place *place, const char *init, enum architecture architecture,
		const char *modules, struct error *err);

#endif
