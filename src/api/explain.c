/* SPDX-License-Identifier: MIT */
#include "api/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/kind.h"

int explain_must_run(const struct workspace *ws, struct error *err)
{
	enum state state;
	json_auto_t *event = NULL;

	if (workspace_state(ws, &state, &event, err) < 0)
		return -1;
	if (state == STATE_QUARANTINED)
		return kind_say(KIND_QUARANTINED, ws->id, "", ERR_CONFLICT, err);
	bool passes = state == STATE_STARTING || state == STATE_STOPPING;
	if (state != STATE_RUNNING && !passes)
		return kind_say(KIND_NOT_RUNNING, ws->id, state_names[state], ERR_CONFLICT, err);
	if (!lease_is_held(ws))
		return kind_say(KIND_ENDED, ws->id, "", ERR_CONFLICT, err);
	return passes ? kind_say(KIND_BUSY, ws->id, state_names[state], ERR_CONFLICT, err) : 0;
}

void explain_nobody_listens(const struct workspace *ws, struct error *why)
{
	if (why->errnum != ENOENT && why->errnum != ECONNREFUSED)
		return;
	if (explain_must_run(ws, why) == 0)
		error_set(
			why, ERR_CONFLICT,
			"the machine cannot be reached, because it is ending or not yet running: try again when it is running");
}

static bool is_silence(const struct error *why)
{
	return why->code == ERR_UNAVAILABLE || why->code == ERR_NOT_FOUND ||
	       why->code == ERR_TIMEOUT;
}

int explain_paused(const struct workspace *ws, struct error *err)
{
	json_auto_t *event = NULL;
	const char *detail;
	enum state state;
	char paused[160];

	if (!err || !is_silence(err))
		return -1;
	/* The detail of the last event says why the machine is paused. */
	if (workspace_state(ws, &state, &event, NULL) < 0)
		return 0;
	detail = json_text(event, "detail", "");
	if (strncmp(detail, PAUSED, strlen(PAUSED)) != 0)
		return 0;
	snprintf(paused, sizeof(paused), "%s", detail);
	return kind_say(strncmp(paused, PAUSED_AT_QUOTA, strlen(PAUSED_AT_QUOTA)) == 0
				? KIND_AT_QUOTA
				: KIND_PAUSED,
			ws->id, paused, ERR_UNAVAILABLE, err);
}

int explain_unreached(const struct workspace *ws, struct error *err)
{
	char name[sizeof(err->subject)];

	if (!err || err->code != ERR_TIMEOUT || err->reason != REASON_NONE)
		return -1;
	snprintf(name, sizeof(name), "%.*s", (int)kind_name_length(ws->id), ws->id);
	return error_reason(err, REASON_GUEST_SILENT, name);
}

int explain_lost(const struct workspace *ws, struct error *err)
{
	const struct error why = err ? *err : (struct error){0};
	char what[KIND_NAME_ROOM];

	if (explain_paused(ws, err) < 0)
		return -1;
	if (why.code == ERR_TIMEOUT) {
		kind_name(ws->id, what);
		error_prefix(err, "%s", what);
		return explain_unreached(ws, err);
	}
	return kind_say(KIND_LOST, ws->id, why.msg, why.code, err);
}

static const char *name_of_missing(enum error_reason reason)
{
	switch (reason) {
	case REASON_ROOT_MISSING:
		return "disk";
	case REASON_KERNEL_MISSING:
		return "kernel";
	case REASON_INITRD_MISSING:
		return "initrd";
	default:
		return NULL;
	}
}

int explain_missing_file(const char *id, struct error *err)
{
	const char *what = err ? name_of_missing(err->reason) : NULL;
	const char *said = what ? strstr(err->msg, ": ") : NULL;
	char name[KIND_NAME_ROOM], rest[sizeof(err->msg)];
	char bare[sizeof(err->subject)];

	if (!said || strncmp(err->msg, "config.", 7) != 0)
		return -1;
	kind_name(id, name);
	snprintf(rest, sizeof(rest), "the %s of %s: %s", what, name, said + 2);
	snprintf(err->msg, sizeof(err->msg), "%s", rest);
	snprintf(bare, sizeof(bare), "%.*s", (int)kind_name_length(id), id);
	return err->reason == REASON_ROOT_MISSING ? error_reason(err, err->reason, bare) : -1;
}
