/* SPDX-License-Identifier: MIT */
/*
 * The commands start and run. While these commands hold the command lock, they check the state and
 * the digests, and that the config is the recorded one. Then the commands record the event
 * `starting` and start the live supervisor, which is called the keeper. When the commands release
 * the lock, the keeper's pipe exists. The command start then waits until the guest is ready. For
 * the command run, this process itself is the keeper, and runs until the machine has ended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "hyperv/commands/answer.h"
#include "hyperv/commands/commands.h"
#include "hyperv/commands/ending.h"
#include "hyperv/commands/prepare.h"
#include "hyperv/commands/spawn.h"
#include "hyperv/keeper/keeper.h"
#include "hyperv/machine/guid.h"
#include "hyperv/windows/digest.h"

struct start {
	const struct request *request;
	struct record record;
	struct inputs inputs;
	/* For start: the pipe with the reports of the live supervisor, which is another process. */
	HANDLE report;
	struct keeper *keeper; /* for run: the live supervisor, in this process */
};

/* --- under the lock ----------------------------------------------------------------------------
 */

/* Checks whether the machine may start. Before the first start, compares the contents of the VHD
 * with the recorded digest. Later the guest may have changed the contents. */
static int admit_start(struct start *start, const struct manifest *manifest,
		       struct response *response, struct error *err)
{
	const bool is_new = disk_is_new(&start->record, manifest);

	if (inputs_check_vhd(&start->inputs, &start->record.store, is_new, err) < 0)
		return -1;
	response->verification = inputs_verify(&start->inputs, start->request->config.image,
					       manifest->artifacts, err);
	return response->verification ? inputs_require(response->verification, err) : -1;
}

/* Writes runtime.json. The live supervisor reads runtime.json and workspace.json to know what to
 * run. The machine gets a new name in HCS at each start. */
static int write_runtime(const struct start *start, const struct manifest *manifest,
			 struct error *err)
{
	const bool booted = disk_was_booted(&start->record, manifest->document);
	const struct identity *identity = &start->request->identity;
	json_auto_t *runtime = json_object();
	char now[CLOCK_TEXT], id[GUID_TEXT];
	uint8_t chance[16];
	struct guid guid;

	if (random_bytes(chance, sizeof(chance), err) < 0)
		return -1;
	guid = guid_of_random(chance);
	guid_text(&guid, id);
	clock_rfc3339(clock_real_ns(), now);
	if (json_put(runtime, "format", json_integer(1), err) < 0 ||
	    json_put_string(runtime, "systemId", id, err) < 0 ||
	    json_put(runtime, "booted", json_boolean(booted), err) < 0 ||
	    json_put_string(runtime, "requestID", identity->request_id, err) < 0 ||
	    json_put(runtime, "identity", json_deep_copy(identity->json), err) < 0 ||
	    json_put_string(runtime, "startedAt", now, err) < 0)
		return -1;
	return store_write(&start->record.store, "runtime.json", runtime, err);
}

/* Reads one line of the live supervisor's reports. Returns 1 with a line, 0 if the live supervisor
 * has exited, or -1 with err set. */
static int next_report(HANDLE report, struct buf *line, struct error *err)
{
	char byte;
	DWORD n;

	buf_consume(line, line->len);
	while (ReadFile(report, &byte, 1, &n, NULL) && n == 1) {
		if (byte == '\n')
			return 1;
		if (buf_append(line, &byte, 1, err) < 0)
			return -1;
	}
	return 0;
}

static bool line_says(const struct buf *line, const char *word)
{
	return line->len == strlen(word) && memcmp(buf_bytes(line), word, line->len) == 0;
}

/* Sets `err` from the last line that a failed live supervisor has written to its report. */
static int keeper_failure(const struct buf *line, struct error *err)
{
	json_auto_t *told = line->len ? json_load_strict(buf_bytes(line), line->len, NULL) : NULL;

	return told ? json_get_error(told, "the live supervisor failed", err)
		    : error_set(
			      err, ERR_IO,
			      "the live supervisor died and did not say why: this is a bug, or it was ended from outside");
}

static int leave_keeper(struct start *start, struct error *err)
{
	autobuf struct buf line = BUF_INIT(65536);
	HANDLE report =
		spawn_keeper(&start->record.store, start->record.state_dir, start->record.id, err);

	if (report == INVALID_HANDLE_VALUE)
		return -1;
	if (next_report(report, &line, err) == 1 && line_says(&line, "alive")) {
		start->report = report;
		return 0;
	}
	CloseHandle(report);
	return keeper_failure(&line, err);
}

static int launch_keeper(struct start *start, struct error *err)
{
	struct error ignored;

	if (start->request->command == COMMAND_RUN) {
		start->keeper = keeper_begin(start->record.state_dir, start->record.id, err);
		if (start->keeper)
			return 0;
	} else if (leave_keeper(start, err) == 0) {
		return 0;
	}
	(void)record_note(&start->record, STATE_FAILED, err->msg, &ignored);
	return -1;
}

static int start_locked(struct start *start, struct response *response, struct error *err)
{
	__attribute__((cleanup(manifest_drop))) struct manifest manifest = {0};
	struct record *record = &start->record;
	const struct request *request = start->request;
	const struct host_bounds bounds = host_bounds();

	if (request->command == COMMAND_RUN && record->state == STATE_UNKNOWN &&
	    (config_settle_cpus(&request->config, ACCELERATOR_KVM, &bounds, err) < 0 ||
	     prepare_workspace(record, request, &start->inputs, err) < 0))
		return -1;
	if (record_allows(record, request->command, err) < 0 ||
	    manifest_load(record, &manifest, err) < 0 ||
	    config_compare(&request->config, &manifest.config, err) < 0 ||
	    ending_wait_over(record, err) < 0 || admit_start(start, &manifest, response, err) < 0 ||
	    store_remove_file(&record->store, "result.json", err) < 0 ||
	    write_runtime(start, &manifest, err) < 0 ||
	    record_note(record, STATE_STARTING, NULL, err) < 0)
		return -1;
	return launch_keeper(start, err);
}

/* --- without it --------------------------------------------------------------------------------
 */

/* Waits until the guest is ready. If the live supervisor fails, it writes a line with the error. If
 * the live supervisor exits without a line, this function sets an error. */
static int await_ready(const struct start *start, struct error *err)
{
	autobuf struct buf line = BUF_INIT(65536);
	int got = next_report(start->report, &line, err);

	if (got < 0)
		return -1;
	if (got == 1 && line_says(&line, "ready"))
		return 0;
	if (got == 1)
		return keeper_failure(&line, err);
	return error_set(err, ERR_CONFLICT, "the machine of workspace %s ended before it was ready",
			 start->record.id);
}

/* Fails if there is no result. A caller of the command run expects the result of a guest command. If
 * the machine was killed before the command ended, there is no result, and run must not report
 * success. */
static int require_result(const struct start *start, const struct response *response,
			  struct error *err)
{
	const struct request *request = start->request;

	if (request->command != COMMAND_RUN || !request->config.command || response->result)
		return 0;
	return error_set(err, ERR_CONFLICT, "workspace %s ended before its command ended: %s",
			 start->record.id,
			 json_text(response->event, "detail", "the reason is not recorded"));
}

/* Adds the recorded state and the present state of the machine to the answer. `status` is 0, or -1
 * if the start has failed, or, for the command run, if the machine has failed. */
static int answer_start(struct start *start, int status, struct response *response,
			struct error *err)
{
	__attribute__((cleanup(told_free))) struct told told = {0};
	struct record now;
	struct error why = {0};

	if (record_begin(&now, start->request, false, &why) < 0)
		return status < 0 ? -1 : error_copy(err, &why);
	json_decref(response->event);
	response->event = record_event(&now, &why);
	told = answer_read(&now);
	store_unlock(&now.store);
	if (status == 0 && response->event)
		status = answer_live(&now, &start->request->config, &told, response, err);
	if (status == 0)
		status = require_result(start, response, err);
	record_end(&now);
	return status;
}

static int start_and_follow(struct start *start, struct response *response, struct error *err)
{
	int status = start_locked(start, response, err);

	store_unlock(&start->record.store);
	if (status < 0)
		return -1;
	if (start->keeper)
		status = keeper_keep(start->keeper, NULL, NULL, err);
	else
		status = await_ready(start, err);
	return answer_start(start, status, response, err);
}

/* Runs the commands start and run. If the command in the guest fails, its exit code is a part of
 * the result, and run itself succeeds. */
int hyperv_start(const struct request *request, struct response *response, struct error *err)
{
	struct start start = {.request = request};
	int status = -1;

	if (refuse_config(&request->config, err) < 0 ||
	    inputs_open(&request->config, &start.inputs, err) < 0)
		return -1;
	if (record_begin(&start.record, request, request->command == COMMAND_RUN, err) == 0) {
		status = start_and_follow(&start, response, err);
		record_end(&start.record);
	}
	handle_close(&start.report);
	inputs_close(&start.inputs);
	return status;
}
