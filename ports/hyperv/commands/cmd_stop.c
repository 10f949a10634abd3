/* SPDX-License-Identifier: MIT */
/*
 * The commands halt, stop and kill. These commands ask the live supervisor, which is called the
 * keeper, to end the machine and to record the end. Then the commands wait until the keeper has
 * exited. The commands do not hold the lock while they wait, so that a kill can follow a stop that
 * takes long. If the keeper does not exit, it is killed, and the machine ends with it. If there is
 * no keeper, stop and kill only record the wanted state, and halt keeps the recorded state.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/commands/commands.h"
#include "hyperv/commands/ending.h"
#include "hyperv/hcs/system.h"
#include "supervisor/live/outcome.h"

HANDLE ending_connect(const struct record *record, struct error *err)
{
	autofree char *id = record_system_id(record);

	if (id)
		return pipe_connect(id, err);
	error_set(err, ERR_NOT_FOUND, "nothing runs");
	return INVALID_HANDLE_VALUE;
}

int ending_wait_over(const struct record *record, struct error *err)
{
	struct error why = {0};
	autohandle HANDLE pipe = ending_connect(record, &why);

	if (pipe == INVALID_HANDLE_VALUE)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	if (pipe_wait_end(pipe, (DWORD)limit_get(LIMIT_ENDING_MS), &why) == 0)
		return 0;
	return error_set(err, ERR_UNAVAILABLE,
			 "workspace %s is still ending: try again when it has ended", record->id);
}

static enum state wanted_state(enum command command)
{
	return command == COMMAND_HALT ? STATE_HALTED : STATE_STOPPED;
}

static enum pipe_word word_of(enum command command)
{
	return command == COMMAND_HALT	 ? PIPE_HALT
	       : command == COMMAND_STOP ? PIPE_STOP
					 : PIPE_KILL;
}

/* Ends the live supervisor. The caller must not hold the lock, since the live supervisor needs the
 * lock to record the end. Sets *forced to true if the live supervisor had to be killed. */
static int end_keeper(HANDLE pipe, const char *system_id, enum command command, bool *forced,
		      struct error *err)
{
	DWORD patience = (DWORD)limit_get(LIMIT_KILL_MS);
	struct error why = {0};

	/* Waits longer for halt and stop, since the live supervisor first gives the guest
	 * LIMIT_HALT_MS milliseconds to end. */
	if (command != COMMAND_KILL)
		patience += (DWORD)limit_get(LIMIT_HALT_MS);
	if (pipe_say(pipe, word_of(command), &why) == 0 && pipe_wait_end(pipe, patience, &why) == 0)
		return 0;
	*forced = true;
	fprintf(stderr, "the live supervisor is killed: %s\n", why.msg);
	if (pipe_kill_keeper(pipe, err) < 0 ||
	    pipe_wait_end(pipe, (DWORD)limit_get(LIMIT_KILL_MS), err) < 0)
		return -1;
	hcs_end_leftover(system_id);
	return 0;
}

/* Checks that the workspace still has the machine `ended`. Another command could start a new
 * machine while this command did not hold the lock. */
static int check_same_machine(const struct record *record, const char *ended, struct error *err)
{
	autofree char *now = record_system_id(record);

	if (now && strcmp(now, ended) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"workspace %s was prepared or started again while it was being ended: try again",
		record->id);
}

/* Returns the recorded state and keeps it. No machine runs, so halt has nothing to end. */
static int keep_as_it_is(struct record *record, struct error *err)
{
	const char *detail = json_text(record->event, "detail", NULL);
	json_auto_t *event = json_deep_copy(record->event);
	char said[512];

	snprintf(said, sizeof(said), NOTHING_RAN "%s%s", detail ? ": " : "", detail ? detail : "");
	if (json_put(event, "detail", json_string_lossy(said, strlen(said)), err) < 0)
		return -1;
	json_decref(record->event);
	record->event = steal_ptr(&event);
	return 0;
}

/* Returns true if the command has nothing to record. If no machine runs, halt keeps the recorded
 * state. Otherwise a killed machine could be recorded as halted. */
static bool is_recorded_already(const struct record *record, enum state wanted, bool had_machine)
{
	if (state_is_live(record->state))
		return false;
	return wanted == STATE_HALTED || (had_machine && record->state == wanted);
}

static int note_end(struct record *record, enum state wanted, bool had_machine, bool forced,
		    struct error *err)
{
	char carried[1024];
	const char *detail = NULL;

	outcome_carry(record->state, json_text(record->event, "detail", ""), carried,
		      sizeof(carried));
	if (forced)
		detail = UNCLEAN "the live supervisor did not answer and was killed";
	else if (*carried)
		detail = carried;
	else if (had_machine)
		detail = "the machine had ended already";
	return record_note(record, wanted, detail, err);
}

/* Finishes the command. The caller holds the lock. Records the end of the machine if neither the
 * live supervisor nor another command has recorded this end. `ended` is the name of the machine
 * that was ended, or NULL if no machine ran. */
static int conclude_keeper_end(struct record *record, enum state wanted, const char *ended,
			       bool forced, struct error *err)
{
	const bool had_machine = ended != NULL;

	if (!store_exists(&record->store) || record_load(record, err) < 0)
		return store_exists(&record->store) ? -1 : 0;
	if (had_machine && check_same_machine(record, ended, err) < 0)
		return -1;
	/* If the live supervisor has died, record_settle() records the end. If this command has
	 * killed the live supervisor (`forced`), note_end() records the end. */
	if (!forced && record_settle(record, err) < 0)
		return -1;
	if (!is_recorded_already(record, wanted, had_machine))
		return note_end(record, wanted, had_machine, forced, err);
	return had_machine ? 0 : keep_as_it_is(record, err);
}

static int stop_kept_workspace(struct record *record, enum command command, struct error *err)
{
	struct error why = {0};
	bool forced = false;

	if (record_allows(record, command, err) < 0)
		return -1;
	autofree char *system_id = record_system_id(record);
	autohandle HANDLE pipe = ending_connect(record, &why);
	bool had_machine = pipe != INVALID_HANDLE_VALUE;
	if (!had_machine && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (had_machine) {
		store_unlock(&record->store);
		if (end_keeper(pipe, system_id, command, &forced, err) < 0 ||
		    store_lock(&record->store, false, err) < 0)
			return -1;
	}
	return conclude_keeper_end(record, wanted_state(command), had_machine ? system_id : NULL,
				   forced, err);
}

int hyperv_stop(const struct request *request, struct response *response, struct error *err)
{
	struct record record;
	int status;

	if (record_begin(&record, request, false, err) < 0)
		return -1;
	status = stop_kept_workspace(&record, request->command, err);
	if (status == 0) {
		response->event = record_event(&record, err);
		status = response->event ? 0 : -1;
	}
	record_end(&record);
	return status;
}
