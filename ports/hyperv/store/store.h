/* SPDX-License-Identifier: MIT */
/*
 * A state directory in the same form as on other systems (docs/microagent-state.5), made with the
 * functions of Windows. Every file is replaced as a whole. The command lock is a lock on
 * <stateDir>\.locks\<id>.
 * The keeper's pipe shows whether the machine is alive (keeper/pipe.h). Records are read and
 * written only under the lock.
 */
#ifndef HYPERV_STORE_H
#define HYPERV_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "contract/state.h"
#include "hyperv/windows/text.h"

#define ROOT_VHD "rootfs.vhd" /* the disk that the guest boots; a copy of config.rootfsPath */

struct store {
	char *dir; /* the path of the workspace's directory, which need not exist */
	char *lock_path;
	HANDLE lock; /* NULL: not held */
};

/* Fills in *out. Does not open or make any file. `state_dir` is an absolute path. The caller calls
 * store_close(). */
int store_open(const char *state_dir, const char *id, struct store *out, struct error *err);
void store_close(struct store *store); /* accepts a zeroed one */

/* Takes the command lock, and waits up to LIMIT_COMMAND_LOCK_MS for it. If `create` is false, and
 * neither the workspace nor a directory of locks exists, succeeds without a lock and makes no
 * file. */
int store_lock(struct store *store, bool create, struct error *err);
/* Gives the lock back. The lock's file is removed if the workspace does not exist any more. */
void store_unlock(struct store *store);

bool store_exists(const struct store *store); /* whether the workspace's directory exists */
/* Functions that make and remove the workspace's directory. ERR_CONFLICT: a directory of this name
 * exists and is not a workspace. */
int store_create(const struct store *store, struct error *err);
int store_remove(const struct store *store, struct error *err);

/* Returns "<dir>\\<name>", malloc'd; NULL with an error. */
char *store_path(const struct store *store, const char *name, struct error *err);
/* Reads a document, which the caller releases. Returns NULL with an error. ERR_NOT_FOUND: the
 * document is absent. */
json_t *store_read(const struct store *store, const char *name, struct error *err);
int store_write(const struct store *store, const char *name, const json_t *value,
		struct error *err);
int store_remove_file(const struct store *store, const char *name, struct error *err);

/* Gets the latest event and its state. Without a recorded event *state is STATE_UNKNOWN and *event
 * is NULL. The caller frees *event. */
int store_state(const struct store *store, enum state *state, json_t **event, struct error *err);
/* Records an event. events.json is written first, so the history never lacks the event that is in
 * force. */
int store_record_event(const struct store *store, const json_t *event, struct error *err);

#endif
