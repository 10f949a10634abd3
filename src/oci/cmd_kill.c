/* SPDX-License-Identifier: MIT */
/* The commands kill, delete and quarantine. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/proc.h"
#include "microagent.h"
#include "oci/binds.h"
#include "oci/create.h"
#include "oci/flags.h"
#include "oci/group.h"
#include "oci/guest.h"
#include "oci/hooks.h"
#include "oci/record.h"
#include "oci/trail.h"
#include "store/store.h"

/* Parses "9", "KILL", "SIGKILL" or "RTMIN+3". Returns the number of the signal; 0 if the signal is
 * unknown. */
static int signal_number(const char *word)
{
	uint64_t number = 0;

	if (command_line_number(word, 1, 64, &number, NULL) == 0)
		return (int)number;
	if (strncasecmp(word, "SIG", 3) == 0)
		word += 3;
	if (strncasecmp(word, "RTMIN+", 6) == 0 &&
	    command_line_number(word + 6, 0, 30, &number, NULL) == 0)
		return SIGRTMIN + (int)number;
	for (int i = 1; i < SIGSYS + 1; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(word, name) == 0)
			return i;
	}
	return 0;
}

int kill_standin(const struct record *record, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CANCEL_MS);
	struct proc proc = PROC_NONE;
	struct error ignored;

	if (record_hold(record, &proc, err) < 0)
		return -1;
	if (standin_ask(record->dir, STANDIN_KILL, &ignored) < 0 ||
	    fd_wait(proc.pidfd, POLLIN, deadline, &ignored) < 0)
		(void)proc_signal(&proc, SIGKILL, &ignored);
	proc_let_go(&proc);
	return 0;
}

static int send_signal(const struct record *record, int number, bool all, struct error *err)
{
	enum oci_status status = record_status(record);
	struct proc proc = PROC_NONE;
	char text[16];

	if (status == OCI_STOPPED || status == OCI_CREATING)
		/* With --all it is no error that the container has ended: the caller only wants
		 * that no process is left. */
		return all ? 0 : error_set(err, ERR_CONFLICT, "container not running");
	if (number == SIGKILL)
		return kill_standin(record, err);
	if (all) {
		snprintf(text, sizeof(text), "%d", number);
		const char *const words[] = {"signal", record_text(record, "guest"), text, NULL};
		return guest_control(record, words, NULL, err);
	}
	if (!standin_hands_on(number))
		return standin_ask_signal(record->dir, number, err);
	if (record_hold(record, &proc, err) < 0)
		return error_set(err, ERR_CONFLICT, "container not running");
	int got = proc_signal(&proc, number, err);
	proc_let_go(&proc);
	return got;
}

int cmd_kill(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	bool all = false;
	const struct flag flags[] = {{"all", "a", FLAG_GIVEN, &all}};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0)
		return -1;
	int number = words[1] ? signal_number(words[1]) : SIGTERM;
	if (!number)
		return error_set(err, ERR_INVALID,
				 "unknown signal \"%.32s\": give a number or a name, like TERM",
				 words[1]);
	if (record_open(oci, *words, &record, err) < 0)
		return -1;
	return send_signal(&record, number, all, err);
}

/* --- delete ---------------------------------------------------------------------------------- */

static void kill_keeper(const struct record *record)
{
	struct proc proc = PROC_NONE;

	if (record_hold_keeper(record, &proc, NULL) < 0)
		return;
	(void)proc_signal(&proc, SIGKILL, NULL);
	proc_let_go(&proc);
}

static int end_standin(const struct record *record, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	struct proc proc = PROC_NONE;
	int status;

	if (record_hold(record, &proc, NULL) < 0)
		return 0;
	(void)proc_signal(&proc, SIGKILL, NULL);
	status = fd_wait(proc.pidfd, POLLIN, deadline, err);
	proc_let_go(&proc);
	return status;
}

/* Waits until no process of the machine lives. If `now` is true, kills the keeper (standin.h)
 * first. Otherwise the keeper gets LIMIT_KILL_MS to end by itself, and is killed after that time.
 * The function does not wait until the keeper is reaped: another process, the keeper's parent,
 * reaps it. */
static int end_kept_machine(const struct record *record, bool now, struct error *err)
{
	autofree char *machines = record_machines(record->oci, err);
	const char *name = record_text(record, "machine");
	struct state_dir dir;
	struct workspace ws;
	int status;

	if (!machines)
		return -1;
	if (!name || state_dir_open(machines, false, &dir, NULL) < 0)
		return 0;
	if (now)
		kill_keeper(record);
	status = workspace_open(&dir, name, false, &ws, err);
	if (status == 0) {
		status = lease_wait_free(&ws, limit_deadline(LIMIT_KILL_MS), NULL);
		if (status < 0) {
			kill_keeper(record);
			status = lease_wait_free(&ws, limit_deadline(LIMIT_KILL_MS), err);
		}
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return status;
}

/* Removes the machine with its workspace. Then removes the oldest archives of audit logs. */
static int remove_machine(const struct record *record, struct error *err)
{
	autofree char *machines = record_machines(record->oci, err);
	const char *name = record_text(record, "machine");
	struct microagent *agent = machines ? microagent_open(machines, err) : NULL;
	int status;

	if (!agent)
		return -1;
	status = microagent_delete(agent, name, NULL, err);
	microagent_close(agent);
	if (status == 0)
		trail_trim(record->oci);
	return status;
}

int remove_container(struct record *record, struct error *err)
{
	const json_t *state = record->state;
	const char *machine = record_text(record, "machine");
	bool owns = json_is_true(json_object_get(state, "owns"));
	autofree char *share = machine ? record_share(record->oci, machine, err) : NULL;

	/* The keeper of a machine in quarantine does not end by itself, so it is killed at once. */
	if (owns &&
	    end_kept_machine(record, standin_ask(record->dir, STANDIN_ASK, NULL) == 0, err) < 0)
		return -1;
	if (share && !owns)
		trail_deleted(record);
	if (share)
		binds_remove(share, json_text(state, "guest", "-"));
	if (share && owns) {
		if (remove_machine(record, err) < 0)
			return -1;
		binds_close(share);
	}
	group_leave(json_object_get(state, "cgroups"));
	return record_remove(record, err);
}

int dispose_container(struct record *record, struct error *err)
{
	json_auto_t *state = container_state(record);
	struct oci_config config = {0};

	if (remove_container(record, err) < 0)
		return -1;
	if (state)
		json_object_set_new(state, "status", json_string("stopped"));
	if (record->state && oci_hooks_decode(record->state, &config, NULL) == 0)
		hooks_try(record->oci, &config, OCI_POSTSTOP, state);
	oci_config_free(&config);
	return 0;
}

int cmd_delete(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	bool force = false;
	const struct flag flags[] = {{"force", "f", FLAG_GIVEN, &force}};
	struct error why = {0};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0)
		return -1;
	if (record_open(oci, *words, &record, &why) < 0 || record_lock(&record, &why) < 0)
		return force && why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	enum oci_status status = record_status(&record);
	if (record_pid(&record) && !force && status != OCI_CREATED)
		return error_set(
			err, ERR_CONFLICT,
			"cannot delete container %.64s that is not stopped: %s; kill it first, or give --force",
			record.id, oci_status_names[status]);
	if (end_standin(&record, err) < 0 ||
	    (force && json_is_true(json_object_get(record.state, "owns")) &&
	     end_kept_machine(&record, true, err) < 0))
		return -1;
	return dispose_container(&record, err);
}

int cmd_quarantine(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	autorecord struct record holder = RECORD_NONE;

	if (flags_parse_command(oci, NULL, 0, words, err) < 0)
		return -1;
	if (record_open(oci, *words, &record, err) < 0 || record_holder(&record, &holder, err) < 0)
		return -1;
	if (!record_keeper(&holder) || record_status(&record) == OCI_STOPPED)
		return error_set(err, ERR_CONFLICT, "container not running");
	return standin_ask(holder.dir, STANDIN_QUARANTINE, err);
}
