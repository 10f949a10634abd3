/* SPDX-License-Identifier: MIT */
/* What is open, by a name that the framework can take. */
#ifndef BACKEND_APPLEVF_FILES_H
#define BACKEND_APPLEVF_FILES_H

#include "base/error.h"

/* The present name of what fd is, malloc'd: ERR_CONFLICT where what has that name is another one by
 * now. Between this look and the framework's own opening lies a moment in which whoever may write
 * to the directory may replace it; nobody but the user may (docs/threat-model.md). */
char *file_name(int fd, struct error *err);
/* The same of what may have no name, as an initramfs that was put together in memory: it gets a
 * copy, as <workspace>/vmm/<name>. */
char *file_name_or_copy(int fd, int workspace_fd, const char *name, struct error *err);
/* A copy of it in any case, which the machine may write to. */
char *file_copy(int fd, int workspace_fd, const char *name, struct error *err);

#endif
