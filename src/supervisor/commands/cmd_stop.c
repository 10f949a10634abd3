/* SPDX-License-Identifier: MIT */
/*
 * halt, stop and kill: ask the live supervisor to end the machine and to record the end, and then
 * wait until the lease is free. The command lock is not held during this wait, so that the command
 * kill can be used while a stop takes long. A live supervisor that does not answer or does not exit
 * is killed, and all processes of the workspace end with it. If there is no machine, stop and kill
 * only record the state `stopped`, and halt keeps the recorded state. But halt ends a quarantine.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/outcome.h"

static enum state wanted_state(enum command command)
{
	return command == COMMAND_HALT ? STATE_HALTED : STATE_STOPPED;
}

enum asked {
	ASKED_NOBODY, /* no process of the workspace lives */
	ASKED,	      /* the live supervisor has agreed to end the machine, or is already exiting */
	ASKED_IN_VAIN /* the live supervisor refused or did not answer */
};

/* Asks the live supervisor to end the machine. Called under the command lock. */
static enum asked ask_end(const struct record *record, enum command command, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CONTROL_REQUEST_MS);

	if (!settle_finds_life(record))
		return ASKED_NOBODY;
	if (control_sock_power(record->ws.fd, command_table[command].name,
			       &record->call->request->identity,
			       record->call->options->keep_quarantined, deadline, err) == 0)
		return ASKED;
	/* If there is no socket, the live supervisor is exiting: it removes its socket shortly
	 * before its lease becomes free. */
	return err->code == ERR_NOT_FOUND || err->code == ERR_UNAVAILABLE ? ASKED : ASKED_IN_VAIN;
}

/* Waits for the end of a machine that was asked to end. The command lock is not held. If the
 * machine does not end in time, kills it and sets *forced to true. `held` is the live supervisor
 * that was asked. As soon as it has exited, another command may start the workspace again. The
 * function then leaves the later machine alone. */
static int await_end(const struct record *record, enum command command,
		     const struct leftover_supervisor *held, bool *forced, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);

	/* This deadline must be later than those of the live supervisor. Otherwise this command
	 * would kill a machine that is still allowed to switch itself off. */
	if (command != COMMAND_KILL)
		deadline += limit_get(LIMIT_HALT_MS) * NS_PER_MS;
	if (leftover_await_supervisor(held, deadline) &&
	    (leftover_has_another_supervisor(&record->ws, held) ||
	     lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), NULL) == 0 ||
	     leftover_has_another_supervisor(&record->ws, held)))
		return 0;
	*forced = true;
	leftover_kill_supervisor(&record->ws);
	return lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), err);
}

/* For a workspace without a machine: answers with the recorded event, and adds to its detail that
 * nothing ran. */
static int answer_as_it_is(const struct record *record, struct response *response,
			   struct error *err)
{
	const char *detail = json_text(record->event, "detail", NULL);
	char said[512];

	response->event = json_deep_copy(record->event);
	snprintf(said, sizeof(said), NOTHING_RAN "%s%s", detail ? ": " : "", detail ? detail : "");
	return json_put(response->event, "detail", json_string_lossy(said, strlen(said)), err);
}

/* If the workspace was started again after the machine ended for which this command waited, returns
 * the event of that end. Returns NULL if there is no such event. The caller releases the event. */
static json_t *end_before_the_latest_start(const struct record *record)
{
	struct error ignored;
	json_auto_t *events = workspace_read(&record->ws, "events.json", &ignored);

	for (size_t i = json_array_size(events); i > 0; i--) {
		json_t *event = json_array_get(events, i - 1);
		enum state state = state_from_name(json_text(event, "state", NULL));

		if (state == STATE_HALTED || state == STATE_STOPPED || state == STATE_FAILED)
			return json_incref(event);
	}
	return NULL;
}

/* Returns true if the command need not record an event. halt keeps every state without a machine
 * except the quarantine, so that a killed workspace does not become a halted one. If a halt has
 * ended the machine at the same time, stop does not record a second end. */
static bool is_recorded_already(const struct record *record, enum state wanted, bool had_vm,
				bool forced)
{
	if (state_is_live(record->state) || record->state == STATE_QUARANTINED)
		return false;
	return wanted == STATE_HALTED ||
	       (had_vm && (record->state == wanted || (record->state == STATE_HALTED && !forced)));
}

/* Takes the command lock again after the wait. Records the end, unless the live supervisor or
 * another command has already recorded it. */
static int conclude_end(struct record *record, enum state wanted, bool had_vm, bool forced,
			struct response *response, struct error *err)
{
	const char *detail = NULL;
	char carried[1024];

	if (record_lock(record, err) < 0)
		return -1;
	/* The workspace was removed by run --remove, or was started again, while this command
	 * waited. */
	if (record->ws.fd < 0 || lease_is_held(&record->ws)) {
		response->event = end_before_the_latest_start(record);
		if (!response->event)
			response->event = record_unrecorded(record, wanted, NULL, err);
		return response->event ? 0 : -1;
	}
	leftover_end_all(&record->ws, limit_deadline(LIMIT_KILL_MS));
	if (!record->call->options->keep_quarantined &&
	    quarantine_proof_take_back(&record->ws, err) < 0)
		return -1;
	/* If this command has killed the live supervisor, the record is still that of a running
	 * machine, and settle() would record `failed`. */
	if ((forced ? record_load(record, err) : settle(record, err)) < 0 ||
	    leftover_remove_files(&record->ws, err) < 0)
		return -1;
	if (!is_recorded_already(record, wanted, had_vm, forced)) {
		outcome_carry(record->state, json_text(record->event, "detail", ""), carried,
			      sizeof(carried));
		/* The detail says how the machine ended, since a killed live supervisor could not
		 * record it. */
		if (forced)
			detail = UNCLEAN LIVE_KILLED;
		else if (*carried)
			detail = carried;
		else if (had_vm)
			detail = "the machine had ended already";
		if (record_note(record, wanted, detail, err) < 0)
			return -1;
	} else if (!had_vm) {
		return answer_as_it_is(record, response, err);
	}
	response->event = record_event(record, err);
	return response->event ? 0 : -1;
}

#define LOOK_NS (5 * (long)NS_PER_MS)

/* Waits until a machine that is being put into quarantine is cut off. The live supervisor refuses
 * to end such a machine. The command lock is not held. Returns true if the quarantine is proven.
 * Returns false if the machine ends, or is not cut off in time. This command must then end the
 * machine. */
static bool await_quarantine(const struct record *record)
{
	static const struct timespec moment = {.tv_nsec = LOOK_NS};
	const uint64_t deadline =
		limit_deadline(LIMIT_SEVER_MS) + limit_get(LIMIT_CONTROL_REQUEST_MS) * NS_PER_MS;

	while (clock_mono_ns() < deadline && lease_is_held(&record->ws)) {
		if (settle_proves_quarantine(record))
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

static int end_and_conclude(struct record *record, enum command command, struct response *response,
			    struct error *err)
{
	__attribute__((cleanup(leftover_let_go_supervisor))) struct leftover_supervisor held;
	struct error why = {0};
	bool forced = false, is_kept;
	enum asked asked;

	leftover_hold_supervisor(&record->ws, &held);
	asked = ask_end(record, command, &why);
	if (asked == ASKED_NOBODY)
		return conclude_end(record, wanted_state(command), false, false, response, err);
	/* A live supervisor is found by its guard process, which it starts shortly after its own
	 * start. A live supervisor that has answered has started its guard, so it can be found now.
	 * The command lock prevents that another command has started another live supervisor
	 * meanwhile. */
	if (!leftover_has_held_supervisor(&held)) {
		leftover_let_go_supervisor(&held);
		leftover_hold_supervisor(&record->ws, &held);
	}
	is_kept = why.reason == REASON_SESSION_QUARANTINED ||
		  why.reason == REASON_WORKSPACE_QUARANTINED;
	if (asked == ASKED_IN_VAIN && record->call->options->keep_quarantined && is_kept) {
		record_unlock(record);
		if (await_quarantine(record))
			return error_copy(err, &why);
		if (record_lock(record, err) < 0)
			return -1;
		if (!lease_is_held(&record->ws))
			asked = ASKED;
	}
	if (asked == ASKED_IN_VAIN) {
		fprintf(stderr, "the live supervisor is killed: %s\n", why.msg);
		forced = true;
		leftover_kill_supervisor(&record->ws);
	}
	record_unlock(record);
	if (await_end(record, command, &held, &forced, err) < 0)
		return error_prefix(
			err, "processes of the workspace are still alive, and did not end in time");
	return conclude_end(record, wanted_state(command), true, forced, response, err);
}

int cmd_stop(const struct call *call, struct response *response, struct error *err)
{
	enum command command = call->request->command;
	struct record record = RECORD_NONE;
	int status = -1;

	if (record_open(&record, call, false, err) == 0 && record_lock(&record, err) == 0 &&
	    settle_to_end(&record, err) == 0 && settle_refuse_quarantined(&record, err) == 0 &&
	    record_allows(&record, command, err) == 0)
		status = end_and_conclude(&record, command, response, err);
	record_close(&record);
	return status;
}
