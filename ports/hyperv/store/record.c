/* SPDX-License-Identifier: MIT */
#include "hyperv/store/record.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "contract/response.h"
#include "hyperv/hcs/system.h"
#include "hyperv/keeper/pipe.h"
#include "hyperv/machine/refused.h"

/* Checks that the record was made by this backend, and has exactly this name. Otherwise a name
 * could lead to another workspace, since Windows also finds a directory by a name in other case, or
 * by its short name. */
static int check_record_is_ours(const struct record *record, struct error *err)
{
	const json_t *identity = json_object_get(record->event, "identity");
	const char *whose = json_text(identity, "backend", HYPERV_BACKEND);
	const char *name = json_text(identity, "runtimeID", record->id);

	if (strcmp(name, record->id) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"there is no workspace %s, but there is a workspace %.128s, and Windows does not tell the two names apart: name that one, or choose another name",
			record->id, name);
	if (strcmp(whose, HYPERV_BACKEND) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"workspace %s uses the backend \"%.64s\", but this is the supervisor of \"" HYPERV_BACKEND
		"\"",
		record->id, whose);
}

int record_load(struct record *record, struct error *err)
{
	json_t *event = NULL;
	enum state state;

	if (store_state(&record->store, &state, &event, err) < 0)
		return -1;
	json_decref(record->event);
	record->event = event;
	record->state = state;
	return check_record_is_ours(record, err);
}

char *record_system_id(const struct record *record)
{
	struct error ignored;
	json_auto_t *runtime = store_read(&record->store, "runtime.json", &ignored);
	const char *id = json_text(runtime, "systemId", NULL);

	return id ? strdup(id) : NULL;
}

int record_settle(struct record *record, struct error *err)
{
	autofree char *id = state_is_live(record->state) ? record_system_id(record) : NULL;
	char detail[128];

	if (!state_is_live(record->state) || (id && pipe_is_there(id)))
		return 0;
	if (id)
		hcs_end_leftover(id);
	snprintf(detail, sizeof(detail),
		 "the live supervisor ended unexpectedly while the workspace was %s",
		 state_names[record->state]);
	return record_note(record, STATE_FAILED, detail, err);
}

int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err)
{
	struct record opened = {.identity = identity, .id = id, .state_dir = state_dir};

	if (hyperv_check_name(id, err) < 0 || store_open(state_dir, id, &opened.store, err) < 0)
		return -1;
	*record = opened;
	return 0;
}

int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err)
{
	struct record begun;

	if (record_open(&begun, request->config.state_dir, request->identity.runtime_id,
			request->identity.json, err) < 0)
		return -1;
	if (store_lock(&begun.store, create, err) < 0 || record_load(&begun, err) < 0 ||
	    record_settle(&begun, err) < 0) {
		record_end(&begun);
		return -1;
	}
	*record = begun;
	return 0;
}

void record_end(struct record *record)
{
	store_close(&record->store);
	json_decref(record->event);
	record->event = NULL;
}

int record_allows(const struct record *record, enum command command, struct error *err)
{
	const char *id = record->id, *place = record->state_dir;
	const char *name = command_table[command].name;

	if (state_allows(record->state, command))
		return 0;
	switch (record->state) {
	case STATE_UNKNOWN:
		if (command == COMMAND_HALT || command == COMMAND_STOP || command == COMMAND_KILL)
			return error_set(err, ERR_NOT_FOUND, "there is no workspace %s in %s", id,
					 place);
		return error_set(err, ERR_NOT_FOUND,
				 "workspace %s is not prepared in %s: prepare it first", id, place);
	case STATE_STARTING:
	case STATE_RUNNING:
		return error_set(err, ERR_CONFLICT,
				 "workspace %s is already %s; stop or kill it before %s", id,
				 state_names[record->state], name);
	default:
		return error_set(
			err, ERR_CONFLICT,
			"workspace %s is %s; wait until it has ended, or kill it, before %s", id,
			state_names[record->state], name);
	}
}

json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err)
{
	char now[CLOCK_TEXT];
	json_t *event;

	clock_rfc3339(clock_real_ns(), now);
	event = event_json(record->identity, state, detail && *detail ? detail : NULL, now);
	if (!event)
		error_set(err, ERR_IO, "out of memory");
	return event;
}

int record_note(struct record *record, enum state state, const char *detail, struct error *err)
{
	json_auto_t *event = record_unrecorded(record, state, detail, err);

	if (!event || store_record_event(&record->store, event, err) < 0)
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
