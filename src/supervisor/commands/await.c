/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/await.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "supervisor/commands/answer.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/handover/report.h"
#include "supervisor/handover/ticket.h"
#include "supervisor/live/outcome.h"

/* The largest length in bytes of a line of the report. The longest line is the result of a command,
 * which has stdout and stderr as JSON strings with escaped bytes. */
#define REPORT_LINE_MAX (64u << 20)

struct await {
	struct record *record;
	struct report_reader reader;
	json_t *event; /* the latest event that was reported */
	/* The result in the last line of the report. After --remove no file has the result. */
	json_t *result;
	bool ready, final, quarantined;
	/* For run: the caller has exited, or SIGTERM told this command to end. */
	bool cut;
	/* This command has killed the live supervisor, because it did not exit in time. */
	bool killed;
	/* A descriptor that watches the lease. After --remove the lease's file no longer exists, so
	 * the lease could not be opened by its path. */
	int lease;
	struct error failure; /* the error in the last line of the report */
};

static bool is_run(const struct await *await)
{
	return await->record->call->request->command == COMMAND_RUN;
}

static enum state event_state(const json_t *event)
{
	return state_from_name(json_text(event, "state", NULL));
}

/* Passes the event on to the caller. If the caller has stopped reading, the event is lost, and the
 * command goes on. */
static void pass_on(const struct await *await, const json_t *event)
{
	int fd = await->record->call->options->events_fd;
	autofree char *line = fd >= 0 ? json_line(event, NULL) : NULL;

	if (line && fd_write_all(fd, line, strlen(line), NULL) == 0)
		(void)fd_write_all(fd, "\n", 1, NULL);
}

static void take_report(struct await *await, const json_t *line)
{
	json_t *event = json_object_get(line, "event");

	if (event) {
		json_decref(await->event);
		await->event = json_incref(event);
	}
	if (json_is_true(json_object_get(line, "final"))) {
		await->final = true;
		await->result = json_incref(json_object_get(line, "result"));
		report_error(line, &await->failure);
		return;
	}
	pass_on(await, event);
	await->ready = await->ready || event_state(event) == STATE_RUNNING;
	await->quarantined = event_state(event) == STATE_QUARANTINED;
}

/* Returns a deadline (monotonic, ns) that is later than all deadlines of the live supervisor. Only
 * a live supervisor that is stuck reaches it. Returns UINT64_MAX for run, whose command may take
 * any time. */
static uint64_t start_deadline(const struct await *await, enum accelerator accelerator)
{
	const struct config *config = &await->record->call->request->config;
	uint64_t boot = ticket_boot_ms(accelerator, config->macos.hardware_model != NULL) +
			(accelerator == ACCELERATOR_KVM ? limit_get(LIMIT_FIRMWARE_MS) : 0);

	if (is_run(await))
		return UINT64_MAX;
	return clock_mono_ns() +
	       (boot + 2 * limit_get(LIMIT_KILL_MS) + limit_get(LIMIT_HALT_MS)) * NS_PER_MS;
}

/* Kills the live supervisor, unless its machine is quarantined: such a machine is kept, even if
 * this run was told to end. The command lock keeps other commands from starting another machine
 * meanwhile. So the live supervisor that is killed is the one whose report this command reads. */
static int kill_live(struct await *await, struct error *err)
{
	struct record *record = await->record;
	int status;

	if (record_lock(record, err) < 0)
		return -1;
	status = record_load(record, err);
	if (status == 0 && record->state != STATE_QUARANTINED) {
		leftover_kill_supervisor(&record->ws);
		await->killed = true;
	}
	record_unlock(record);
	return status;
}

/*
 * Reads the report of the live supervisor. The command start reads until the guest is ready. The
 * command run, or a start that has failed, reads to the end of the report, so that no process of
 * the machine is alive when the command answers.
 *
 * When the caller of run ends, or run is told to end, the live supervisor may be stuck. Then this
 * command kills the live supervisor, which ends the report.
 */
static int await_follow(struct await *await, uint64_t deadline, struct error *err)
{
	for (;;) {
		json_auto_t *line = NULL;
		struct error why = {0};

		switch (report_next(&await->reader, deadline, &line, &why)) {
		case REPORT_NONE:
			/* The live supervisor was told to end the machine, and has not exited by
			 * its own deadlines. */
			if (why.code != ERR_TIMEOUT || !await->cut || await->killed ||
			    kill_live(await, &why) < 0 || !await->killed)
				return error_copy(err, &why);
			deadline = limit_deadline(LIMIT_KILL_MS);
			break;
		case REPORT_ENDED:
			return 0;
		case REPORT_CUT:
			await->cut = true;
			/* The new deadline is later than all deadlines of a live supervisor that is
			 * told to end now. */
			deadline = limit_deadline(LIMIT_KILL_MS) +
				   limit_get(LIMIT_SETTLE_MS) * NS_PER_MS;
			break;
		case REPORT_LINE:
			take_report(await, line);
			/* Another command ends a quarantined machine. That command reports the end,
			 * so this command stops reading here. */
			if ((await->ready && !is_run(await)) || await->quarantined)
				return 0;
		}
	}
}

/* If the live supervisor died without the last line of its report, records the end in its stead,
 * and removes the workspace if --remove was given. */
static int mend(struct await *await, struct error *err)
{
	struct record *record = await->record;
	struct error ignored;
	int status;

	if (lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), err) < 0 ||
	    record_lock(record, err) < 0)
		return -1;
	status = settle_for(record, await->killed ? LIVE_KILLED : NULL, err);
	if (status == 0) {
		json_decref(await->event);
		await->event = json_incref(record->event);
		if (await->event)
			pass_on(await, await->event);
		if (record->state == STATE_FAILED)
			error_set(
				&await->failure, ERR_IO, "%s",
				await->killed
					? LIVE_KILLED
					: "the live supervisor died and did not say why: supervisor.log in the workspace may say more");
	}
	if (record->call->options->remove && record->ws.fd >= 0)
		(void)workspace_remove(&record->ws, &ignored);
	record_unlock(record);
	return status;
}

static int await_conclude(struct await *await, struct response *response, struct error *err)
{
	struct record *record = await->record;

	response->event = steal_ptr(&await->event);
	if (await->failure.code || await->quarantined || (!await->ready && !await->result)) {
		/* If there is no error, another command has ended the machine of this start. */
		const char *id = record->call->request->identity.runtime_id;
		const char *detail = json_text(response->event, "detail", NULL);

		if (await->failure.code)
			return error_copy(err, &await->failure);
		if (await->quarantined)
			return kind_error(
				id, ERR_CONFLICT, err,
				"was quarantined: its machine goes on without any channel; halt, stop or kill it");
		return kind_error(id, ERR_CONFLICT, err, "ended before it was ready%s%s",
				  detail ? ": " : "", detail ? detail : "");
	}
	/* Reads the readiness for the state of this event. Otherwise the answer could combine this
	 * state with the readiness of a later state. */
	record->state = event_state(response->event);
	if (answer_live(record, &record->call->request->config, response, err) < 0)
		return -1;
	if (await->result) {
		/* Takes the result from the report, since after --remove no file has the result. */
		const char *at = json_text(await->result, "completedAt", NULL);

		json_decref(response->result);
		response->result = steal_ptr(&await->result);
		json_object_del(response->result, "format");
		json_object_set_new(response->readiness, "resultReady",
				    readiness_of_result(true, at));
	}
	return 0;
}

static int wait_and_conclude(struct await *await, enum accelerator accelerator,
			     struct response *response, struct error *err)
{
	if (await_follow(await, start_deadline(await, accelerator), err) < 0)
		return error_prefix(err,
				    "the live supervisor has not reported how the machine starts");
	if (!await->final && !await->quarantined && (is_run(await) || !await->ready) &&
	    mend(await, err) < 0)
		return -1;
	/* The report ends when the live supervisor exits. The lease becomes free at the same
	 * moment, or soon after. */
	if (await->final && lease_wait_over(&await->record->ws, await->lease,
					    limit_deadline(LIMIT_KILL_MS), err) < 0)
		return -1;
	return await_conclude(await, response, err);
}

int await_live(struct record *record, int report, int told, enum accelerator accelerator,
	       struct response *response, struct error *err)
{
	const bool run = record->call->request->command == COMMAND_RUN;
	struct await await = {
		.record = record,
		.reader = {.fd = report,
			   .lifelines = {run ? told : -1,
					 run ? record->call->options->lifeline_fd : -1},
			   .in = BUF_INIT(REPORT_LINE_MAX)},
		.event = json_incref(record->event),
		.lease = lease_watch(&record->ws),
	};
	int status;

	if (await.event)
		pass_on(&await, await.event);
	status = wait_and_conclude(&await, accelerator, response, err);
	buf_free(&await.reader.in);
	if (await.lease >= 0)
		close(await.lease);
	json_decref(await.event);
	json_decref(await.result);
	return status;
}
