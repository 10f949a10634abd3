/* SPDX-License-Identifier: MIT */
/* What the rules of rules.h find on the host's system: linux/host_system.c and
 * darwin/host_system.c. */
#ifndef STORE_SHARE_HOST_SYSTEM_H
#define STORE_SHARE_HOST_SYSTEM_H

#include "store/spot.h"

/* Directories that are the system's own, until one without a path. Those that are not there are
 * passed over. */
struct share_place {
	const char *path;
	enum reach reach;
};
extern const struct share_place share_places[];

/*
 * File systems that are no files but the kernel's own tables, devices and switches; until NULL.
 * Each mount of one may be a file system by itself, so that its place tells nothing.
 */
extern const char *const share_kernel_types[];

/* Stores of keys below a home that other systems do not have; until NULL. */
extern const char *const share_system_keys[];

/* A path; fn's first -1 ends it. */
typedef int share_path_fn(void *data, const char *path, struct error *err);
/* The homes of the people who have an account here. What cannot be read has none. */
int share_each_home(share_path_fn *fn, void *data, struct error *err);
/* This program and the libraries that it has loaded. */
int share_each_loaded(share_path_fn *fn, void *data, struct error *err);

#endif
