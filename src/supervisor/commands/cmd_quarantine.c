/* SPDX-License-Identifier: MIT */
/*
 * quarantine: the live supervisor is asked, and its acknowledgement waited for: it cuts, proves and
 * records. It may have been taken over, so this command looks itself whether the companions that
 * it knew before have ended. A live supervisor that does not answer, or says what is not so, is
 * killed, and the VM with it, since what is not proven to be cut off must not go on. Without a VM
 * the state is only recorded.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/outcome.h"

static int ask_quarantine(const struct record *record, json_t **answer, struct error *err)
{
	uint64_t deadline =
		limit_deadline(LIMIT_SEVER_MS) + limit_get(LIMIT_CONTROL_REQUEST_MS) * NS_PER_MS;
	json_auto_t *request = json_object();

	if (json_put_string(request, "command", "quarantine", err) < 0 ||
	    json_put_string(request, "requestID", record->call->request->identity.request_id, err) <
		    0)
		return -1;
	return control_ask(record->ws.fd, request, deadline, answer, err);
}

/* Says in why what has become of a machine that could not be proven to be cut off. ended: every
 * process of the workspace has ended. */
static void explain_failure(const struct record *record, bool stuck, bool ended, struct error *why)
{
	if (stuck) {
		/* Nobody is to try it again. */
		why->code = ERR_IO;
		error_prefix(why, ended ? QUARANTINE_FAILED : QUARANTINE_FAILED_ALIVE);
	} else if (why->code == ERR_NOT_FOUND || why->code == ERR_UNAVAILABLE) {
		kind_error(record->ws.id, ERR_CONFLICT, why,
			   "ended before the quarantine was complete");
	}
}

/* The live supervisor has refused, has ended, does not answer, or says what is not so. In the last two
 * cases nothing can be proven of its machine, and it is killed. why becomes what is answered, beside
 * the event of what became of the workspace. */
static int conclude_failure(struct record *record, struct error *why, struct response *response)
{
	struct error err = {0};
	const bool stuck = why->code == ERR_TIMEOUT;
	bool ended;

	/* Refused because of how the workspace is: nothing was begun. */
	if (why->code == ERR_CONFLICT || why->code == ERR_UNSUPPORTED)
		return -1;
	if (stuck)
		leftover_kill_supervisor(&record->ws);
	ended = lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), &err) == 0;
	explain_failure(record, stuck, ended, why);
	if (!ended || record_lock(record, &err) < 0)
		return -1;
	if (settle_for(record, stuck ? why->msg : NULL, &err) == 0 && record->event)
		response->event = json_incref(record->event);
	record_unlock(record);
	return -1;
}

static int ask_and_look(const struct record *record, json_t **answer, struct error *err)
{
	__attribute__((cleanup(leftover_let_go))) struct leftover_companions companions = {0};

	return leftover_hold_companions(&record->ws, &companions, err) < 0 ||
			       ask_quarantine(record, answer, err) < 0
		       ? -1
		       : leftover_await_companions(&companions, limit_deadline(LIMIT_SEVER_MS),
						   err);
}

static int quarantine_live(struct record *record, struct response *response, struct error *err)
{
	json_auto_t *answer = NULL;
	struct error why = {0};

	record_unlock(record);
	if (ask_and_look(record, &answer, &why) == 0) {
		response->event = json_incref(json_object_get(answer, "event"));
		return response->event ? 0
				       : error_set(err, ERR_INTERNAL,
						   "the live supervisor answered without an event");
	}
	conclude_failure(record, &why, response);
	if (err)
		*err = why;
	return -1;
}

/* Records the quarantine of a workspace without a machine. The event repeats how the last machine
 * ended. */
static int quarantine_at_rest(struct record *record, struct error *err)
{
	char carried[1024], detail[sizeof(carried) + sizeof(NO_MACHINE) + 2];

	outcome_carry(record->state, json_text(record->event, "detail", ""), carried,
		      sizeof(carried));
	snprintf(detail, sizeof(detail), NO_MACHINE "%s%s", *carried ? "; " : "", carried);
	return record_note(record, STATE_QUARANTINED, detail, err);
}

static int quarantine(struct record *record, struct response *response, struct error *err)
{
	if (record_lock(record, err) < 0 || settle_to_end(record, err) < 0 ||
	    record_allows(record, COMMAND_QUARANTINE, err) < 0)
		return -1;
	if (record->state == STATE_RUNNING)
		return quarantine_live(record, response, err);
	if (settle_finds_life(record))
		return kind_error(record->ws.id, ERR_CONFLICT, err, "has not quite ended yet");
	if (quarantine_at_rest(record, err) < 0)
		return -1;
	response->event = record_event(record, err);
	return response->event ? 0 : -1;
}

int cmd_quarantine(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	status = record_open(&record, call, false, err);
	if (status == 0)
		status = quarantine(&record, response, err);
	record_close(&record);
	return status;
}
