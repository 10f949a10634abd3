/* SPDX-License-Identifier: MIT */
/*
 * quarantine: asks the live supervisor to cut the machine off, and waits for its answer. The live
 * supervisor cuts the machine off, proves the cut and records it. An attacker may control the live
 * supervisor, so this command makes its own checks: whether the companions that it found before the
 * request have exited, whether the quarantine is recorded, and whether the broker has proven the
 * cut (store/quarantine_proof.c). If the answer is an error, the command checks whether the machine
 * has ended.
 *
 * A live supervisor that does not answer is killed, and its machine ends with it. A live supervisor
 * that answers with an error is also killed if its machine goes on, since a machine whose cut is
 * not proven must not go on. If there is no machine, the command only records the state.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/min.h"
#include "contract/kind.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/outcome.h"

/* Returns whether another command has meanwhile put the machine into quarantine, with proof. */
static bool is_quarantined(struct record *record)
{
	struct error ignored;
	bool is;

	if (record_lock(record, &ignored) < 0)
		return false;
	is = record_load(record, &ignored) == 0 && record->state == STATE_QUARANTINED &&
	     settle_proves_quarantine(record);
	record_unlock(record);
	return is;
}

#define LOOK_NS (50 * NS_PER_MS)

/* Waits for the end of the machine. Returns true if the machine has ended. `was_refused` is true if
 * the live supervisor has refused the request. Another command may then be putting the machine into
 * quarantine, and only the record shows this. So the function reads the record again and again. If
 * the record shows the quarantine, sets *quarantined to true. */
static bool await_end(struct record *record, bool was_refused, bool *quarantined)
{
	const uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	struct error ignored;
	uint64_t until;

	do {
		*quarantined = was_refused && is_quarantined(record);
		if (*quarantined)
			return false;
		until = was_refused ? min_u64(clock_mono_ns() + LOOK_NS, deadline) : deadline;
		if (lease_wait_free(&record->ws, until, &ignored) == 0)
			return true;
	} while (clock_mono_ns() < deadline);
	return false;
}

/* Finishes a quarantine that did not cut the machine off. Before the call, `why` is the error that
 * the request failed with. The function waits for the end of the machine, and kills a machine that
 * does not end in time. After the call, `why` is the error that this command answers with, and the
 * event in the response says what happened to the workspace. */
static void conclude_failure(struct record *record, struct error *why, struct response *response)
{
	struct error err = {0}, said = *why;
	bool kill = why->code == ERR_TIMEOUT, ended = false, quarantined;

	if (!kill) {
		ended = await_end(record, why->code == ERR_CONFLICT, &quarantined);
		if (quarantined) {
			(void)record_allows(record, COMMAND_QUARANTINE, why);
			return;
		}
		kill = !ended;
		if (kill)
			error_set(why, ERR_IO,
				  "the workspace's machine was still running after this error: %s",
				  said.msg);
	}
	if (kill) {
		leftover_kill_supervisor(&record->ws);
		ended = lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), &err) == 0;
	}
	if (kill) {
		/* With the code ERR_IO the caller does not repeat the command. */
		why->code = ERR_IO;
		error_prefix(why, ended ? QUARANTINE_FAILED : QUARANTINE_FAILED_ALIVE);
	} else if (why->code == ERR_NOT_FOUND || why->code == ERR_UNAVAILABLE ||
		   why->code == ERR_CONFLICT) {
		kind_error(record->ws.id, ERR_CONFLICT, why,
			   "ended before the quarantine was complete");
	}
	if (!ended || record_lock(record, &err) < 0)
		return;
	if (settle_for(record, kill ? why->msg : NULL, &err) == 0 && record->event)
		response->event = json_incref(record->event);
	record_unlock(record);
}

/* Returns the state in the latest event on the disk. Does not check whether a quarantine is
 * proven. */
static enum state state_of_event(const struct record *record)
{
	json_auto_t *event = workspace_read(&record->ws, "event.json", NULL);

	return state_from_name(json_text(event, "state", ""));
}

/* Returns true if the record shows the quarantine, or an end of the machine that began or happened
 * after the quarantine. If the machine lives, a recorded end is false and does not count. */
static bool is_recorded(struct record *record)
{
	struct error ignored;
	enum state said;

	if (record_load(record, &ignored) < 0 || !record->event)
		return false;
	said = state_of_event(record);
	if (said == STATE_RUNNING || said == STATE_UNKNOWN || said == STATE_COUNT)
		return false;
	return said == STATE_QUARANTINED || state_is_live(said) || !settle_finds_life(record);
}

static int ask_and_look(const struct record *record, json_t **answer, struct error *err)
{
	__attribute__((cleanup(leftover_let_go))) struct leftover_companions companions = {0};
	json_auto_t *request =
		control_sock_request("quarantine", &record->call->request->identity, err);
	uint64_t deadline;

	if (!request || leftover_hold_companions(&record->ws, &companions, err) < 0)
		return -1;
	deadline = limit_deadline(LIMIT_SEVER_MS) + limit_get(LIMIT_CONTROL_REQUEST_MS) * NS_PER_MS;
	if (control_ask(record->ws.fd, request, deadline, answer, err) < 0 ||
	    leftover_await_companions(&companions, limit_deadline(LIMIT_SEVER_MS), err) < 0)
		return -1;
	return settle_proves_quarantine(record)
		       ? 0
		       : error_set(
				 err, ERR_TIMEOUT,
				 "the live supervisor says that all channels are cut, but this could not be proven");
}

static int quarantine_live(struct record *record, struct response *response, struct error *err)
{
	const struct backend *backend = record->call->backend;
	json_auto_t *answer = NULL;
	struct error why = {0};

	if (!backend->sever)
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s does not support quarantine: stop the machine instead",
				 backend->name);
	record_unlock(record);
	if (ask_and_look(record, &answer, &why) == 0) {
		json_t *event = json_object_get(answer, "event");

		/* The live supervisor says that the machine is cut off and that the quarantine is
		 * recorded. But the event may be missing, unreadable or different, because the disk
		 * was full or an attacker controls the live supervisor. In these cases this command
		 * writes the event itself. */
		if (record_lock(record, err) < 0)
			return -1;
		if (!is_recorded(record) &&
		    record_note(record, STATE_QUARANTINED, json_text(event, "detail", ""), err) < 0)
			return error_prefix(
				err, "the machine is cut off, but this could not be recorded");
		if (state_of_event(record) == STATE_QUARANTINED)
			event = record->event;
		response->event = json_incref(event);
		return event ? 0
			     : error_set(
				       err, ERR_INTERNAL,
				       "the live supervisor's answer to the quarantine has no event: this is a bug of microagent");
	}
	conclude_failure(record, &why, response);
	*err = why;
	return -1;
}

/* Returns true if a live supervisor has recorded something false: a quarantine that is not proven,
 * or an end while its machine still runs. */
static bool is_lie(const struct record *record)
{
	struct leftover_supervisor held;
	bool has_supervisor;

	if (record->state == STATE_QUARANTINED)
		return lease_is_held(&record->ws) && !settle_proves_quarantine(record);
	if (state_is_live(record->state) || !settle_finds_life(record))
		return false;
	leftover_hold_supervisor(&record->ws, &held);
	has_supervisor = held.guards.count > 0;
	leftover_let_go_supervisor(&held);
	return has_supervisor;
}

static int quarantine(struct record *record, struct response *response, struct error *err)
{
	char carried[1024], detail[sizeof(carried) + sizeof(NO_MACHINE) + 2];

	if (record_lock(record, err) < 0 || settle_to_end(record, err) < 0)
		return -1;
	if (is_lie(record))
		return quarantine_live(record, response, err);
	if (record_allows(record, COMMAND_QUARANTINE, err) < 0)
		return -1;
	if (record->state == STATE_RUNNING)
		return quarantine_live(record, response, err);
	if (settle_finds_life(record))
		return kind_error(record->ws.id, ERR_CONFLICT, err, "is still ending");
	/* Adds to the event how the last machine ended. */
	outcome_carry(record->state, json_text(record->event, "detail", ""), carried,
		      sizeof(carried));
	snprintf(detail, sizeof(detail), NO_MACHINE "%s%s", *carried ? "; " : "", carried);
	if (record_note(record, STATE_QUARANTINED, detail, err) < 0)
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
