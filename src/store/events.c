/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads the events of a workspace. events.json (the history) is written before
 * event.json (the latest event). If the second write fails, the history has one event more than
 * event.json shows. The history never lacks the event in event.json.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/internal.h"

/* Checks an event and sets *state to the state in the event. Unknown fields are not checked, since
 * a newer version of microagent may have written them. */
static int check_event(const json_t *event, enum state *state, struct error *err)
{
	const char *name = NULL, *observed_at = NULL;
	json_t *identity = NULL;
	enum state found;

	if (json_get_object(event, "", "identity", JSON_REQUIRED, &identity, err) < 0 ||
	    json_get_string(event, "", "state", JSON_REQUIRED, &name, err) < 0 ||
	    json_get_string(event, "", "observedAt", JSON_REQUIRED, &observed_at, err) < 0)
		return -1;
	found = state_from_name(name);
	if (found == STATE_COUNT)
		return error_set(
			err, ERR_INVALID,
			"the event has a state that microagent does not know: \"%.64s\"; use the version of microagent that wrote it",
			name);
	*state = found;
	return 0;
}

int workspace_state(const struct workspace *ws, enum state *state, json_t **event,
		    struct error *err)
{
	json_auto_t *latest = NULL;
	struct error why = {0};
	enum state found = STATE_UNKNOWN;

	latest = workspace_read(ws, "event.json", &why);
	if (!latest && why.code != ERR_NOT_FOUND) {
		return error_copy(err, &why);
	}
	if (latest && check_event(latest, &found, &why) < 0)
		return workspace_damaged(ws, "event.json", &why, err);
	/* The live supervisor writes the event, and a guest may have taken the supervisor over. So
	 * the event may be false, and the proof of a quarantine, which the supervisor cannot write,
	 * is checked too. */
	if (latest && found != STATE_QUARANTINED && quarantine_proof_was_given(ws)) {
		found = STATE_QUARANTINED;
		if (json_put_string(latest, "state", state_names[found], err) < 0)
			return -1;
	}
	*state = found;
	if (event)
		*event = steal_ptr(&latest);
	return 0;
}

/* Returns STORE_SYNC for a quarantine, which must stay recorded after a power failure. Returns
 * STORE_NO_SYNC for any other state, because the lease shows after a power failure that the machine
 * does not run. */
static enum store_sync sync_of(const json_t *event)
{
	const char *state = json_text(event, "state", NULL);

	return state && !strcmp(state, state_names[STATE_QUARANTINED]) ? STORE_SYNC : STORE_NO_SYNC;
}

int workspace_record_event(const struct workspace *ws, const json_t *event, struct error *err)
{
	struct error why = {0};
	json_auto_t *events = workspace_read(ws, "events.json", &why);
	size_t keep = limit_get(LIMIT_EVENTS_KEPT);

	if (!events && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (!events)
		events = json_array();
	if (json_array_append_new(events, json_deep_copy(event)) < 0)
		return error_errno(err, ENOMEM, "record an event");
	while (json_array_size(events) > keep)
		json_array_remove(events, 0);
	if (workspace_write(ws, "events.json", events, sync_of(event), err) < 0)
		return -1;
	return workspace_write(ws, "event.json", event, sync_of(event), err);
}
