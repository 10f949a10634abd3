/* SPDX-License-Identifier: MIT */
/* Starts a machine that goes on from a point, and writes the lines about points to the audit
 * logs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/control.h"
#include "session/points/point.h"
#include "store/audit.h"

/* --- booted ---------------------------------------------------------------------------------- */

static json_t *read_boot(const struct microagent_session *session, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *runtime = NULL;
	json_t *boot;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return NULL;
	runtime = workspace_read(&existing.ws, "runtime.json", err);
	open_workspace_close(&existing);
	if (!runtime)
		return NULL;
	boot = json_object_get(runtime, "boot");
	if (json_is_object(boot))
		return json_incref(boot);
	error_set(
		err, ERR_IO,
		"it is not known whether session %s was booted or restored, because the record of its supervisor is damaged: stop the session and start it again",
		session->name);
	return NULL;
}

int point_boot(struct microagent_session *session, const struct point *point, json_t **boot,
	       struct error *err)
{
	uint64_t began = clock_mono_ns();
	autofree char *option = NULL;

	if (asprintf(&option, "--template=%s", point->path) < 0) {
		option = NULL;
		return error_errno(err, ENOMEM, "session");
	}
	const char *const options[] = {option, NULL};
	if (session_start_with(session, options, err) < 0)
		return -1;
	session->boot_ms = (double)(clock_mono_ns() - began) / (double)NS_PER_MS;
	*boot = read_boot(session, err);
	return *boot ? 0 : -1;
}

/* --- lines in the audit logs ----------------------------------------------------------------- */

#define ATTEMPTS 8

int point_note_at_rest(const struct workspace *ws, const char *what, const char *name, json_t *more,
		       struct error *err)
{
	struct audit_event line;
	json_auto_t *data = NULL;

	if (audit_told_line(ws, what, name, more, &line, &data, err) < 0)
		return -1;
	line.data = data;
	return audit_note(ws, &line, err);
}

int point_note(const struct workspace *ws, const char *what, const char *name, json_t *more,
	       struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_COMMAND_LOCK_MS);
	json_auto_t *request = json_pack("{s:s, s:s, s:s, s:O*}", "command", "note", "what", what,
					 "name", name, "more", more);
	struct error why = {0};

	if (!request)
		return error_errno(err, ENOMEM, "session");
	for (int i = 0; i < ATTEMPTS; i++) {
		autoclose int lock = -1;

		if (control_ask(ws->fd, request, limit_deadline(LIMIT_CONTROL_REQUEST_MS), NULL,
				&why) == 0)
			return 0;
		if (why.errnum != ENOENT && why.errnum != ECONNREFUSED)
			break;
		lock = workspace_lock_opened(ws, deadline, err);
		if (lock < 0)
			return -1;
		if (!lease_is_held(ws))
			return point_note_at_rest(ws, what, name, more, err);
		/* The live supervisor cannot be reached, but its lease is held. So the machine is
		 * just starting or ending. */
		error_set(
			&why, ERR_CONFLICT,
			"the session cannot be reached, because it is ending or not yet running: try again when it is running");
	}
	return error_copy(err, &why);
}
