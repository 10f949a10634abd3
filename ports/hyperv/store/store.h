/* SPDX-License-Identifier: MIT */
/*
 * A state directory as elsewhere (docs/microagent-state.5), by Windows' means: every file is
 * replaced whole, and the command lock is a lock on <stateDir>\.locks\<id>. Who is alive is said by
 * the keeper's pipe (keeper/pipe.h). Whatever is read or written of a record is so under the lock.
 */
#ifndef HYPERV_STORE_H
#define HYPERV_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "contract/state.h"
#include "hyperv/windows/text.h"

#define ROOT_VHD "rootfs.vhd" /* what the guest boots: a copy of config.rootfsPath */

struct store {
	char *dir; /* of the workspace; need not exist */
	char *lock_path;
	HANDLE lock; /* NULL: not held */
};

/* state_dir: absolute. */
int store_open(const char *state_dir, const char *id, struct store *out, struct error *err);
void store_close(struct store *store); /* accepts a zeroed one */

/* Waits for who has it; LIMIT_COMMAND_LOCK_MS. Without a workspace and a directory of locks nothing is
 * locked or made, and that is success, unless create is set. */
int store_lock(struct store *store, bool create, struct error *err);
/* The lock's file goes with the workspace. */
void store_unlock(struct store *store);

bool store_exists(const struct store *store); /* the workspace's directory */
/* ERR_CONFLICT, of both, for a directory of something else that has the workspace's name. */
int store_create(const struct store *store, struct error *err);
int store_remove(const struct store *store, struct error *err);

/* "<dir>\\<name>", malloc'd. */
char *store_path(const struct store *store, const char *name, struct error *err);
/* NULL with ERR_NOT_FOUND when absent. */
json_t *store_read(const struct store *store, const char *name, struct error *err);
int store_write(const struct store *store, const char *name, const json_t *value,
		struct error *err);
int store_remove_file(const struct store *store, const char *name, struct error *err);

/* The latest event and its state; STATE_UNKNOWN and NULL where nothing is recorded. */
int store_state(const struct store *store, enum state *state, json_t **event, struct error *err);
/* Into events.json first, so that the history never has an event less than is in force. */
int store_record_event(const struct store *store, const json_t *event, struct error *err);

#endif
