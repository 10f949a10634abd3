/* SPDX-License-Identifier: MIT */
/* Finds names that the framework can open, for files that are already open here. */
#ifndef BACKEND_APPLEVF_FILES_H
#define BACKEND_APPLEVF_FILES_H

#include "base/error.h"

/* Returns the present path of the open file `fd`, which the caller frees. ERR_CONFLICT: the path
 * now leads to a different file. The framework opens the path a moment after this check. In this
 * moment a process that may write to the directory could replace the file. Only processes of the
 * user may write to the directory (docs/threat-model.md). */
char *file_name(int fd, struct error *err);
/* Returns a name for the open file `fd`, malloc'd; NULL with an error. A file without a name, for
 * example an initramfs that was built in memory, is copied to <workspace>/vmm/<name>. */
char *file_name_or_copy(int fd, int workspace_fd, const char *name, struct error *err);
/* Copies the open file `fd` to <workspace>/vmm/<name>; the machine may write to the copy. Returns
 * the name of the copy, malloc'd; NULL with an error. */
char *file_copy(int fd, int workspace_fd, const char *name, struct error *err);

#endif
