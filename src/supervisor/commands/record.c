/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"

static const char *runtime_id(const struct record *record)
{
	return record->call->request->identity.runtime_id;
}

static int reopen_workspace(struct record *record, bool create, struct error *err)
{
	struct workspace ws;

	if (workspace_open(&record->dir, runtime_id(record), create, &ws, err) < 0)
		return -1;
	workspace_close(&record->ws);
	record->ws = ws;
	return 0;
}

int record_open(struct record *record, const struct call *call, bool create, struct error *err)
{
	struct error why = {0};

	record->call = call;
	record->creates = create;
	if (state_dir_open(call->request->config.state_dir, create, &record->dir, &why) < 0) {
		if (why.code == ERR_NOT_FOUND && !create)
			return 0;
		*err = why;
		return -1;
	}
	return reopen_workspace(record, false, err);
}

void record_unlock(struct record *record)
{
	if (record->lock < 0)
		return;
	/* If there is no workspace, no other command needs the lock file, so the file is
	 * removed. */
	if (record->ws.fd < 0)
		workspace_lock_remove(&record->dir, runtime_id(record));
	close(record->lock);
	record->lock = -1;
}

void record_close(struct record *record)
{
	record_unlock(record);
	workspace_close(&record->ws);
	if (record->dir.fd >= 0)
		state_dir_close(&record->dir);
	record->dir.fd = -1;
	json_decref(record->event);
	record->event = NULL;
}

/* Returns true if there is something to lock. Otherwise the command takes no lock, because a lock
 * would make a directory of locks in whatever directory the user has named. */
static bool has_what_is_locked(const struct record *record)
{
	return record->creates || workspace_is_recorded(&record->ws) ||
	       state_dir_has_locks(&record->dir);
}

int record_lock(struct record *record, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_COMMAND_LOCK_MS);

	if (record->dir.fd < 0)
		return 0;
	/* If this process already holds the lock, it must not take the lock again, since it would
	 * wait for itself. */
	if (record->lock < 0 && has_what_is_locked(record)) {
		record->lock = workspace_lock(&record->dir, runtime_id(record), deadline, err);
		if (record->lock < 0)
			return -1;
	}
	return reopen_workspace(record, false, err);
}

/* Requires that this backend has made the workspace. Only that backend can control the machine, and
 * can tell whether its lease is held. */
static int check_whose(const struct record *record, struct error *err)
{
	const char *own = record->call->backend->name;
	const char *whose = json_text(json_object_get(record->event, "identity"), "backend", own);

	if (strcmp(whose, own) == 0)
		return 0;
	return kind_error(runtime_id(record), ERR_CONFLICT, err,
			  "uses the backend \"%.64s\", but this is the supervisor of \"%s\"", whose,
			  own);
}

int record_load(struct record *record, struct error *err)
{
	enum state state = STATE_UNKNOWN;
	json_t *event = NULL;

	if (record->dir.fd >= 0 && record->ws.fd >= 0 &&
	    workspace_state(&record->ws, &state, &event, err) < 0)
		return -1;
	json_decref(record->event);
	record->event = event;
	record->state = state;
	return check_whose(record, err);
}

int record_create(struct record *record, struct error *err)
{
	return record->ws.fd >= 0 ? 0 : reopen_workspace(record, true, err);
}

int record_allows(const struct record *record, enum command command, struct error *err)
{
	const char *name = command_table[command].name;
	const char *place = record->call->request->config.state_dir;
	char what[KIND_NAME_ROOM];

	if (state_allows(record->state, command))
		return 0;
	kind_bare_name(runtime_id(record), what);
	if (command == COMMAND_CONSOLE && record->state != STATE_UNKNOWN)
		return error_set(err, ERR_CONFLICT,
				 "%s is %s; its console can be used only while it is running", what,
				 state_names[record->state]);
	if (command == COMMAND_QUARANTINE && record->state == STATE_QUARANTINED)
		return error_set(err, ERR_CONFLICT, "%s is already quarantined", what);
	switch (record->state) {
	case STATE_UNKNOWN:
		if (command == COMMAND_QUARANTINE || command == COMMAND_HALT ||
		    command == COMMAND_STOP || command == COMMAND_KILL)
			return error_set(err, ERR_NOT_FOUND, "there is no %s in %s", what, place);
		return error_set(err, ERR_NOT_FOUND, "%s is not prepared in %s: prepare it first",
				 what, place);
	case STATE_STARTING:
	case STATE_RUNNING:
		if (command == COMMAND_QUARANTINE)
			return error_set(
				err, ERR_CONFLICT,
				"%s is starting; kill it, or wait until it is running, before quarantine",
				what);
		return error_set(err, ERR_CONFLICT, "%s is already %s; stop or kill it before %s",
				 what, state_names[record->state], name);
	case STATE_QUARANTINED:
		return error_set(err, ERR_CONFLICT,
				 "%s is quarantined; halt, stop or kill it before %s", what, name);
	default:
		return error_set(err, ERR_CONFLICT,
				 "%s is %s; wait until it has ended, or kill it, before %s", what,
				 state_names[record->state], name);
	}
}

json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err)
{
	char now[CLOCK_TEXT];
	json_t *event;

	clock_rfc3339(clock_real_ns(), now);
	event = event_json(record->call->request->identity.json, state,
			   detail && *detail ? detail : NULL, now);
	if (!event)
		error_set(err, ERR_IO, "out of memory");
	return event;
}

int record_note(struct record *record, enum state state, const char *detail, struct error *err)
{
	json_auto_t *event = record_unrecorded(record, state, detail, err);

	if (!event || workspace_record_event(&record->ws, event, err) < 0)
		return -1;
	json_decref(record->event);
	record->event = steal_ptr(&event);
	record->state = state;
	return 0;
}

json_t *record_event(const struct record *record, struct error *err)
{
	if (record->event)
		return json_incref(record->event);
	return record_unrecorded(record, STATE_UNKNOWN, NULL, err);
}
