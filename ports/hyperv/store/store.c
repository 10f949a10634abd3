/* SPDX-License-Identifier: MIT */
#include "hyperv/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/windows/file.h"

#define DOCUMENT_BYTES (64u << 20)

int store_open(const char *state_dir, const char *id, struct store *out, struct error *err)
{
	autofree char *locks = file_in(state_dir, ".locks", err);
	struct store store = {.dir = file_in(state_dir, id, err)};

	store.lock_path = locks && store.dir ? file_in(locks, id, err) : NULL;
	if (!store.lock_path) {
		free(store.dir);
		return -1;
	}
	*out = store;
	return 0;
}

void store_close(struct store *store)
{
	store_unlock(store);
	free(store->dir);
	free(store->lock_path);
	*store = (struct store){0};
}

/* If a directory has one of these files, it is a workspace, perhaps an unfinished one. */
static const char *const marks[] = {"workspace.json", "workspace.json.new", "event.json",
				    "events.json",    "runtime.json",	    ROOT_VHD,
				    ROOT_VHD ".new"};

static bool is_marked(const struct store *store)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		autofree char *path = file_in(store->dir, marks[i], NULL);

		if (path && file_exists(path))
			return true;
	}
	return false;
}

int store_lock(struct store *store, bool create, struct error *err)
{
	autofree char *locks = strdup(store->lock_path);
	HANDLE lock;

	if (store->lock)
		return 0;
	if (!locks)
		return error_errno(err, ENOMEM, "memory");
	*strrchr(locks, '\\') = '\0';
	/* If there is no workspace and no directory of locks, succeeds without a lock. The state
	 * directory may then be any directory of the user, in which no directory of locks must be
	 * created. */
	if (!create && !file_exists(locks) && !is_marked(store))
		return 0;
	if (file_make_dirs(locks, err) < 0)
		return -1;
	lock = file_lock(store->lock_path, limit_deadline(LIMIT_COMMAND_LOCK_MS), err);
	if (lock == INVALID_HANDLE_VALUE)
		return -1;
	store->lock = lock;
	return 0;
}

/* Releases the lock. Removes the lock's file if the workspace no longer exists. The removal fails
 * if another process has the file open (file_lock()). That process then has the lock or waits for
 * it. */
void store_unlock(struct store *store)
{
	struct error ignored;

	if (!store->lock)
		return;
	CloseHandle(store->lock);
	store->lock = NULL;
	if (!store_exists(store))
		(void)file_remove(store->lock_path, &ignored);
}

bool store_exists(const struct store *store)
{
	return file_exists(store->dir);
}

/* Refuses a directory that is not a workspace. A folder of the user may have the same name as a
 * workspace. Such a folder must not be written to, and above all it must not be removed. */
static int refuse_foreign(const struct store *store, struct error *err)
{
	if (!store_exists(store) || is_marked(store) || file_is_empty_dir(store->dir))
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"%s is a directory of something else; choose another name or another state directory",
		store->dir);
}

int store_create(const struct store *store, struct error *err)
{
	return refuse_foreign(store, err) < 0 ? -1 : file_make_dirs(store->dir, err);
}

int store_remove(const struct store *store, struct error *err)
{
	return refuse_foreign(store, err) < 0 ? -1 : file_remove_tree(store->dir, err);
}

char *store_path(const struct store *store, const char *name, struct error *err)
{
	return file_in(store->dir, name, err);
}

json_t *store_read(const struct store *store, const char *name, struct error *err)
{
	autofree char *path = store_path(store, name, err);
	autobuf struct buf bytes = BUF_INIT(DOCUMENT_BYTES);
	json_t *document;

	if (!path || file_read(path, &bytes, err) < 0)
		return NULL;
	document = json_load_strict(buf_bytes(&bytes), bytes.len, err);
	if (document)
		return document;
	err->code = ERR_IO;
	error_prefix(err, "%s is damaged", path);
	error_reason(err, REASON_WORKSPACE_DAMAGED, "");
	return NULL;
}

int store_write(const struct store *store, const char *name, const json_t *value, struct error *err)
{
	autofree char *path = store_path(store, name, err);
	autofree char *text = json_pretty(value, err);

	return path && text ? file_replace(path, text, strlen(text), false, err) : -1;
}

int store_remove_file(const struct store *store, const char *name, struct error *err)
{
	autofree char *path = store_path(store, name, err);

	return path ? file_remove(path, err) : -1;
}

int store_state(const struct store *store, enum state *state, json_t **event, struct error *err)
{
	struct error why = {0};
	json_auto_t *latest = store_read(store, "event.json", &why);
	enum state found = STATE_UNKNOWN;

	if (!latest && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (latest)
		found = state_from_name(json_text(latest, "state", NULL));
	if (found == STATE_COUNT)
		return error_set(err, ERR_IO, "%s\\event.json is damaged: it has no state",
				 store->dir);
	*state = found;
	*event = steal_ptr(&latest);
	return 0;
}

int store_record_event(const struct store *store, const json_t *event, struct error *err)
{
	struct error why = {0};
	json_auto_t *events = store_read(store, "events.json", &why);
	size_t keep = (size_t)limit_get(LIMIT_EVENTS_KEPT);

	if (!events && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (!events)
		events = json_array();
	if (json_array_append_new(events, json_deep_copy(event)) < 0)
		return error_errno(err, ENOMEM, "record an event");
	while (json_array_size(events) > keep)
		json_array_remove(events, 0);
	if (store_write(store, "events.json", events, err) < 0)
		return -1;
	return store_write(store, "event.json", event, err);
}
