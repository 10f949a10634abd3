/* SPDX-License-Identifier: MIT */
/*
 * Functions for a state directory, in the form that it has on other systems
 * (docs/microagent-state.5). They use the functions of Windows. Every file is replaced as a whole.
 * The command lock is a lock on <stateDir>\.locks\<id>. The keeper's pipe shows whether the machine
 * is alive (keeper/pipe.h). Records are read and written only under the lock.
 */
#ifndef HYPERV_STORE_H
#define HYPERV_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "contract/state.h"
#include "hyperv/windows/text.h"

#define ROOT_VHD "rootfs.vhd" /* the disk from which the guest boots, a copy of config.rootfsPath */

struct store {
	char *dir; /* the path of the workspace's directory, which need not exist */
	char *lock_path;
	HANDLE lock; /* the handle that holds the command lock; NULL: not held */
};

/* Fills in *out. Opens and makes no file. `state_dir` is an absolute path. The caller calls
 * store_close(). */
int store_open(const char *state_dir, const char *id, struct store *out, struct error *err);
void store_close(struct store *store); /* accepts a zeroed store */

/* Takes the command lock. Waits for it up to LIMIT_COMMAND_LOCK_MS. If `create` is false, and
 * neither the workspace nor a directory of locks exists, succeeds without a lock and makes no
 * file. */
int store_lock(struct store *store, bool create, struct error *err);
/* Releases the lock. Removes the lock's file if the workspace no longer exists. */
void store_unlock(struct store *store);

bool store_exists(const struct store *store); /* returns true if the workspace's directory exists */
/* Make and remove the workspace's directory. ERR_CONFLICT: a directory with this name exists, and
 * is not a workspace. */
int store_create(const struct store *store, struct error *err);
int store_remove(const struct store *store, struct error *err);

/* Returns "<dir>\\<name>", which the caller frees; NULL with an error. */
char *store_path(const struct store *store, const char *name, struct error *err);
/* Reads a document, which the caller releases. Returns NULL with an error; ERR_NOT_FOUND: the
 * document does not exist. */
json_t *store_read(const struct store *store, const char *name, struct error *err);
int store_write(const struct store *store, const char *name, const json_t *value,
		struct error *err);
int store_remove_file(const struct store *store, const char *name, struct error *err);

/* Sets *event to the latest event, and *state to its state. If no event is recorded, sets them to
 * NULL and STATE_UNKNOWN. The caller releases *event. */
int store_state(const struct store *store, enum state *state, json_t **event, struct error *err);
/* Records an event. Writes events.json first, so that the history never lacks the event in
 * event.json. */
int store_record_event(const struct store *store, const json_t *event, struct error *err);

#endif
