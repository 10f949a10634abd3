/* SPDX-License-Identifier: MIT */
/*
 * Functions for a state directory on Windows. The state directory has the same form as on other
 * systems (docs/microagent-state.5). A file is never changed, but replaced as a whole. The command
 * lock is a lock on the file <stateDir>\.locks\<id>. The pipe of the live supervisor shows whether
 * the machine runs (keeper/pipe.h). Records are read and written only while the lock is held.
 */
#ifndef HYPERV_STORE_H
#define HYPERV_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "contract/state.h"
#include "hyperv/windows/text.h"

#define ROOT_VHD "rootfs.vhd" /* the guest's root disk, made from config.rootfsPath */

struct store {
	char *dir; /* the workspace's directory, which need not exist */
	char *lock_path;
	HANDLE lock; /* the handle with the command lock; NULL: not held */
};

/* Sets the members of *out. Opens and creates no file. `state_dir` must be an absolute path. The
 * caller must call store_close(). */
int store_open(const char *state_dir, const char *id, struct store *out, struct error *err);
void store_close(struct store *store); /* accepts a zeroed store */

/* Takes the command lock. Waits for the lock up to LIMIT_COMMAND_LOCK_MS milliseconds. If `create`
 * is false, and neither the workspace nor a directory of locks exists, succeeds without a lock and
 * creates no file. */
int store_lock(struct store *store, bool create, struct error *err);
/* Releases the lock. Removes the lock's file if the workspace no longer exists. */
void store_unlock(struct store *store);

bool store_exists(const struct store *store); /* true if the workspace's directory exists */
/* Functions that create and remove the workspace's directory. Both fail with ERR_CONFLICT if a
 * directory of this name is not a workspace. */
int store_create(const struct store *store, struct error *err);
int store_remove(const struct store *store, struct error *err);

/* Returns "<dir>\\<name>", which the caller frees, or NULL with err set. */
char *store_path(const struct store *store, const char *name, struct error *err);
/* Reads a JSON document, which the caller releases. Returns NULL with err set on failure.
 * ERR_NOT_FOUND means that the document does not exist. */
json_t *store_read(const struct store *store, const char *name, struct error *err);
int store_write(const struct store *store, const char *name, const json_t *value,
		struct error *err);
int store_remove_file(const struct store *store, const char *name, struct error *err);

/* Sets *event to the latest event, and *state to the state in this event. If no event is recorded,
 * sets *event to NULL and *state to STATE_UNKNOWN. The caller releases *event. */
int store_state(const struct store *store, enum state *state, json_t **event, struct error *err);
/* Records an event. Writes events.json, the history, before event.json. So the history never lacks
 * the event that is in event.json. */
int store_record_event(const struct store *store, const json_t *event, struct error *err);

#endif
