/* SPDX-License-Identifier: MIT */
/* Facts about the host's system that the rules in rules.h need. linux/host_system.c and
 * darwin/host_system.c define them. */
#ifndef STORE_SHARE_HOST_SYSTEM_H
#define STORE_SHARE_HOST_SYSTEM_H

#include "store/spot.h"

/* The system's own directories. An entry without a path ends the table. Directories that do not
 * exist are skipped. */
struct share_place {
	const char *path;
	enum reach reach;
};
extern const struct share_place share_places[];

/*
 * Types of file systems that have only the kernel's own tables, devices and switches, and no files
 * of users. NULL ends the list. Each mount of such a type may be a new file system. So its
 * directories cannot be recognised by their paths in the file system, but only by the file system's
 * type.
 */
extern const char *const share_kernel_types[];

/* Paths of directories with keys that exist only on this operating system, relative to a home. NULL
 * ends the list. */
extern const char *const share_system_keys[];

/* Gets a path. If the function returns -1, it is not called for further paths. */
typedef int share_path_fn(void *data, const char *path, struct error *err);
/* Calls `fn` for the home of each account of this host. Skips accounts that cannot be read. */
int share_each_home(share_path_fn *fn, void *data, struct error *err);
/* Calls `fn` for the path of this program, and of each library that it has loaded. */
int share_each_loaded(share_path_fn *fn, void *data, struct error *err);

#endif
