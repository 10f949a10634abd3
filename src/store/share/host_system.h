/* SPDX-License-Identifier: MIT */
/* Facts about the host's operating system that the rules in rules.h need. linux/host_system.c and
 * darwin/host_system.c define them. */
#ifndef STORE_SHARE_HOST_SYSTEM_H
#define STORE_SHARE_HOST_SYSTEM_H

#include "store/spot.h"

/* Directories of the operating system, and which directories a rule about each of them refuses. An
 * entry without a path ends the table. Directories that do not exist are skipped. */
struct share_place {
	const char *path;
	enum reach reach;
};
extern const struct share_place share_places[];

/*
 * Types of file systems that show only tables, devices and settings of the kernel, and no files of
 * users. NULL ends the list. Each mount of such a type may be a separate file system. So a
 * directory in it cannot be recognised by its path within the file system, but only by the type.
 */
extern const char *const share_kernel_types[];

/* Paths of directories with keys, relative to a home. The list has only those that no other
 * operating system has. NULL ends the list. */
extern const char *const share_system_keys[];

/* A function that gets a path. If the function returns -1, it is not called for further paths. */
typedef int share_path_fn(void *data, const char *path, struct error *err);
/* Calls `fn` for the home of each account of this host. Skips accounts that cannot be read. */
int share_each_home(share_path_fn *fn, void *data, struct error *err);
/* Calls `fn` for the path of this program, and of each library that it has loaded. */
int share_each_loaded(share_path_fn *fn, void *data, struct error *err);

#endif
