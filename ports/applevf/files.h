/* SPDX-License-Identifier: MIT */
/* Finds paths by which the framework can open files that are already open in this process. */
#ifndef BACKEND_APPLEVF_FILES_H
#define BACKEND_APPLEVF_FILES_H

#include "base/error.h"

/* Returns the present path of the open file `fd`. The caller frees the path. Returns NULL with
 * ERR_CONFLICT if that path leads to a different file. The framework opens the path shortly after
 * this check. Between the check and the open, a process that may write to the directory could
 * replace the file. Only processes of the user may write to the directory
 * (docs/threat-model.md). */
char *file_name(int fd, struct error *err);
/* Returns a path by which the open file `fd` can be opened again, or NULL with err set. The caller
 * frees the path. A file without a path, such as an initramfs that was built in memory, is copied
 * to <workspace>/vmm/<name>. */
char *file_name_or_copy(int fd, int workspace_fd, const char *name, struct error *err);
/* Copies the open file `fd` to <workspace>/vmm/<name>. The machine may write to the copy. Returns
 * the path of the copy, which the caller frees, or NULL with err set. */
char *file_copy(int fd, int workspace_fd, const char *name, struct error *err);

#endif
