/* SPDX-License-Identifier: MIT */
/* Facts about the host's system that the rules of rules.h need: linux/host_system.c and
 * darwin/host_system.c. */
#ifndef STORE_SHARE_HOST_SYSTEM_H
#define STORE_SHARE_HOST_SYSTEM_H

#include "store/spot.h"

/* The system's own directories. The table ends with an entry without a path. Directories that do
 * not exist are skipped. */
struct share_place {
	const char *path;
	enum reach reach;
};
extern const struct share_place share_places[];

/*
 * Types of file systems that have only the kernel's own tables, devices and switches, and no files
 * of users. NULL ends the list. Each mount of such a type may be a new file system, so a directory
 * cannot be recognised by its path in the file system; the type decides.
 */
extern const char *const share_kernel_types[];

/* Stores of keys that only this operating system has, as paths below a home. NULL ends the list. */
extern const char *const share_system_keys[];

/* Receives a path. The first -1 ends the calls. */
typedef int share_path_fn(void *data, const char *path, struct error *err);
/* Calls `fn` for the home of each account of this host. Accounts that cannot be read are
 * skipped. */
int share_each_home(share_path_fn *fn, void *data, struct error *err);
/* Calls `fn` for this program and for each library that it has loaded. */
int share_each_loaded(share_path_fn *fn, void *data, struct error *err);

#endif
