/* SPDX-License-Identifier: MIT */
/* Between the files of the store. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

#define LEASE_NAME "lease"
/* In the state directory: a file for each workspace that a command works on, the pass of one that is
 * given a directory, on Linux a second name of the lease of one that lives or has lived, the digests
 * of its records, the lock of their changes, and the proof that its machine is cut off. */
#define LOCKS_DIR ".locks"
#define SHARE_PASS ".share-"
#define LEASE_KEPT ".lease-"
#define RECORD_DIGEST ".record-"
#define SESSION_DIGEST ".session-"
#define CHANGE_LOCK ".change-"
#define CUT_PROOF ".cut-"
#define CUT_PROOF_ROOM 192
#define RECORD_DIGEST_ROOM 192

/* Gives err the reason that a file of the workspace is damaged. Returns -1. */
int workspace_give_damaged(const struct workspace *ws, struct error *err);
/* The digests of a workspace's records go with it. */
void record_digest_forget(const struct state_dir *dir, const char *id);

/* To wait for the end of a lease. -1 with errno: ENOENT where nothing ever lived, ENXIO where
 * nothing does. */
int lease_look(const struct workspace *ws);
/* Whether a file is of the type of which leases are. */
bool lease_has_its_type(const struct stat *file);
/* The name by which a process's lease is found among its open files. NULL: whatever its name is. */
extern const char *const lease_shown_name;
/* ERR_CONFLICT, with the processes that have it as far as they are to be seen. */
int lease_busy(const struct workspace *ws, int lease, struct error *err);
int lease_error(const struct workspace *ws, int errnum, struct error *err);
/* Writes the path below the state directory by which commands look at the lease. Returns whether
 * something is there that is no lease. */
#define LEASE_PLACE 320
bool lease_place(const struct workspace *ws, char out[LEASE_PLACE]);

/* Whether our user namespace knows neither the directory's owner nor root, and it is root's all the
 * same. linux/nameless.c, darwin/nameless.c */
bool dir_is_nameless_roots(int dir, const struct stat *st);

/* $HOME, else what the user's entry says; malloc'd. NULL: there is none. */
char *home_dir(void);
/* What the user's entry says alone. */
char *home_of_account(void);

/* Whether there are digests of the workspace's records, which only commands write. */
bool state_dir_has_digests(const struct state_dir *dir, const char *id);

#endif
