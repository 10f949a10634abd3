/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/keeper.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/keeper/keeper_impl.h"
#include "hyperv/keeper/pipe.h"
#include "hyperv/machine/refused.h"
#include "supervisor/live/control_message.h"
#include "supervisor/live/result.h"

/* How many milliseconds the live supervisor waits for the last bytes of the control stream and the
 * console, after the machine has ended. */
#define LAST_WORDS_MS 2000

void keeper_log(const char *fmt, ...)
{
	char line[1024], now[CLOCK_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	clock_rfc3339(clock_real_ns(), now);
	fprintf(stderr, "%s %s\n", now, line);
	fflush(stderr);
}

void keeper_write(struct keeper *keeper, const char *file, const json_t *document)
{
	struct error err = {0};

	if (store_lock(&keeper->record.store, false, &err) < 0 ||
	    store_write(&keeper->record.store, file, document, &err) < 0)
		keeper_log("%s: %s", file, err.msg);
	store_unlock(&keeper->record.store);
}

void keeper_note(struct keeper *keeper, enum state state, const char *detail)
{
	struct error err = {0};

	if (store_lock(&keeper->record.store, false, &err) < 0 ||
	    record_note(&keeper->record, state, detail, &err) < 0)
		keeper_log("%s: %s", state_names[state], err.msg);
	store_unlock(&keeper->record.store);
}

/* --- what comes --------------------------------------------------------------------------------
 */

static void on_guest_said_hello(struct keeper *keeper, const json_t *message)
{
	struct control_hello hello;
	struct error err;

	if (control_read_hello(message, &hello, &err) == 0)
		json_object_set_new(
			keeper->runtime, "guest",
			json_pack("{s:s, s:s}", "version", hello.version, "bootId", hello.boot_id));
}

static void on_guest_is_ready(struct keeper *keeper)
{
	struct error err = {0};
	char now[CLOCK_TEXT];

	keeper->outcome.ready = true;
	clock_rfc3339(clock_real_ns(), now);
	json_object_set_new(keeper->runtime, "readyAt", json_string(now));
	keeper_write(keeper, "runtime.json", keeper->runtime);
	/* A command may have asked for a stop while the guest was still booting. Until now only
	 * Hyper-V's service in the guest could tell the guest. Now the control stream can. */
	if (keeper->outcome.intent != INTENT_NONE) {
		json_auto_t *message = control_power_off(NULL);

		if (message && guest_say(keeper->guest, message, &err) < 0)
			keeper_log("%s", err.msg);
		return;
	}
	if (channels_publish(keeper->channels, &err) < 0) {
		keeper_end(keeper, INTENT_FAILED, &err);
		return;
	}
	keeper_note(keeper, STATE_RUNNING, NULL);
	keeper_await(keeper,
		     keeper->outcome.workload && keeper->config.timeout_seconds > 0 ? AWAIT_RESULT
										    : AWAIT_NOTHING,
		     (uint64_t)keeper->config.timeout_seconds * 1000 +
			     limit_get(LIMIT_WORKLOAD_GRACE_MS));
	if (keeper->on_ready)
		keeper->on_ready(keeper->data);
}

static void keep_outcome(struct keeper *keeper, const json_t *result, int exit_code)
{
	struct outcome *outcome = &keeper->outcome;

	outcome->has_result = true;
	outcome->exit_code = exit_code;
	outcome->timed_out = json_is_true(json_object_get(result, "timedOut"));
	snprintf(outcome->start_error, sizeof(outcome->start_error), "%s",
		 json_text(result, "startError", ""));
}

static void on_guest_gave_result(struct keeper *keeper, const json_t *message)
{
	autofree char *path = store_path(&keeper->record.store, "result.json", NULL);
	struct error err = {0};
	json_auto_t *result = NULL;
	char text[512];
	int exit_code = 0;

	if (path)
		result = result_from_message(message, keeper->record.identity, HYPERV_BACKEND, path,
					     &exit_code, &err);
	if (!result) {
		snprintf(text, sizeof(text), "the guest broke the control protocol: %.400s",
			 err.msg);
		keeper_fail(keeper, ERR_IO, text);
		return;
	}
	keeper_log("the command ended with exit code %d", exit_code);
	keep_outcome(keeper, result, exit_code);
	keeper_write(keeper, "result.json", result);
	if (keeper->outcome.intent == INTENT_NONE)
		keeper_end(keeper, INTENT_DONE, NULL);
}

/* Handles the end of the control stream. The stream also ends when the machine ends. In that case
 * HCS reports the machine's end soon after. */
static void on_lost(struct keeper *keeper, const char *why)
{
	keeper_log("control stream: %s", why);
	if (keeper->outcome.intent == INTENT_NONE &&
	    !(keeper->outcome.ready && !keeper->outcome.workload))
		keeper_await(keeper, AWAIT_EXIT, limit_get(LIMIT_AGENT_LOST_MS));
}

static void on_broken(struct keeper *keeper, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "the guest broke the control protocol: %s", why);
	keeper_fail(keeper, ERR_IO, text);
}

static void on_notice(struct keeper *keeper, const struct notice *notice)
{
	switch (notice->kind) {
	case NOTICE_HALT:
		keeper_end(keeper, INTENT_HALT, NULL);
		break;
	case NOTICE_STOP:
		keeper_end(keeper, INTENT_STOP, NULL);
		break;
	case NOTICE_KILL:
		keeper_end(keeper, INTENT_KILL, NULL);
		break;
	case NOTICE_HELLO:
		on_guest_said_hello(keeper, notice->message);
		break;
	case NOTICE_READY:
		on_guest_is_ready(keeper);
		break;
	case NOTICE_RESULT:
		on_guest_gave_result(keeper, notice->message);
		break;
	case NOTICE_ENDING:
		keeper->ending = true;
		break;
	case NOTICE_LOST:
		on_lost(keeper, notice->why);
		break;
	case NOTICE_BROKEN:
		on_broken(keeper, notice->why);
		break;
	case NOTICE_EXITED:
		snprintf(keeper->exit_type, sizeof(keeper->exit_type), "%.60s", notice->why);
		keeper->over = true;
		break;
	case NOTICE_NOTHING:
		keeper_late(keeper);
		break;
	}
}

static void follow(struct keeper *keeper)
{
	while (!keeper->over) {
		struct notice notice = inbox_take(keeper->inbox, keeper->deadline);

		on_notice(keeper, &notice);
		json_decref(notice.message);
	}
}

/* Handles the last notices of the guest, which came before the machine's end but were not handled
 * yet. */
static void hear_last_words(struct keeper *keeper)
{
	struct notice notice;

	if (keeper->channels)
		channels_shut(keeper->channels);
	if (keeper->guest)
		guest_end(keeper->guest, LAST_WORDS_MS);
	if (keeper->serial && keeper->started)
		serial_drain(keeper->serial, LAST_WORDS_MS);
	while ((notice = inbox_take(keeper->inbox, 0)).kind != NOTICE_NOTHING) {
		if (notice.kind == NOTICE_ENDING || notice.kind == NOTICE_RESULT)
			on_notice(keeper, &notice);
		json_decref(notice.message);
	}
}

/* --- the machine -------------------------------------------------------------------------------
 */

static void on_exited(void *data, const char *exit_type)
{
	struct keeper *keeper = data;

	inbox_post(keeper->inbox, NOTICE_EXITED, NULL, exit_type);
}

static int grant_all(const struct keeper *keeper, const struct machine *machine, struct error *err)
{
	if (hcs_grant_access(keeper->system_id, machine->kernel, err) < 0 ||
	    hcs_grant_access(keeper->system_id, machine->initrd, err) < 0)
		return -1;
	for (size_t i = 0; i < machine->disk_count; i++)
		if (hcs_grant_access(keeper->system_id, machine->disks[i].path, err) < 0)
			return -1;
	return 0;
}

static int create_machine(struct keeper *keeper, const struct machine *machine, struct error *err)
{
	json_auto_t *document = machine_document(machine, err);

	if (!document || grant_all(keeper, machine, err) < 0)
		return -1;
	keeper->system = hcs_system_create(keeper->system_id, document, on_exited, keeper, err);
	return keeper->system ? 0 : -1;
}

/* Starts the machine that HCS has created. First listens for the guest, so that none of the guest's
 * connections fails. */
static int start_machine(struct keeper *keeper, const json_t *disks, struct error *err)
{
	json_auto_t *config = control_config(&keeper->config, keeper->record.id, false, err);
	char vm[GUID_TEXT];
	struct guid runtime_id;

	if (!config || json_put(config, "disks", json_deep_copy(disks), err) < 0 ||
	    hcs_system_runtime_id(keeper->system, &runtime_id, err) < 0)
		return -1;
	guid_text(&runtime_id, vm);
	if (json_put_string(keeper->runtime, "vmId", vm, err) < 0)
		return -1;
	keeper_write(keeper, "runtime.json", keeper->runtime);
	keeper->guest = guest_listen(&runtime_id, config, keeper->config.command != NULL,
				     keeper->inbox, err);
	if (!keeper->guest || channels_listen(keeper->channels, &runtime_id, err) < 0 ||
	    hcs_system_start(keeper->system, err) < 0) {
		/* Removes vmId again, since no guest has used the disk (see disk_was_booted()). */
		json_object_del(keeper->runtime, "vmId");
		keeper_write(keeper, "runtime.json", keeper->runtime);
		return -1;
	}
	keeper->started = true;
	keeper_await(keeper, AWAIT_READY, limit_get(LIMIT_BOOT_KVM_MS));
	return 0;
}

static int make_machine(struct keeper *keeper, struct error *err)
{
	__attribute__((cleanup(disks_free))) struct disks disks = {0};
	const json_t *artifacts = json_object_get(keeper->manifest, "artifacts");
	autofree char *log = store_path(&keeper->record.store, "serial.log", err);
	char pipe[96];

	snprintf(pipe, sizeof(pipe), "\\\\.\\pipe\\microagent-%s-com1", keeper->system_id);
	if (!log || disks_of(&keeper->config, &keeper->record.store, &disks, err) < 0)
		return -1;
	keeper->channels = channels_new(&keeper->config, err);
	if (!keeper->channels)
		return -1;
	keeper->serial = serial_begin(pipe, log, err);
	struct machine machine = {
		.kernel = json_text(json_object_get(artifacts, "kernel"), "path", ""),
		.initrd = json_text(json_object_get(artifacts, "initrd"), "path", ""),
		.console_pipe = pipe,
		.memory_mib = keeper->config.memory_mib,
		.cpus = keeper->config.cpus,
		.disks = disks.list,
		.disk_count = disks.count,
	};
	machine.host_ports = channels_host_ports(keeper->channels, &machine.host_port_count);
	machine.guest_ports = channels_guest_ports(keeper->channels, &machine.guest_port_count);
	if (!keeper->serial || create_machine(keeper, &machine, err) < 0)
		return -1;
	return start_machine(keeper, disks.guest, err);
}

/* Checks that the workspace still has the machine of this live supervisor. Usually the command that
 * has started this process held the lock until now. But the command may have been killed before
 * this process had opened its pipe. Another command may then have found no live supervisor, and may
 * have changed the workspace. */
static int confirm_start(struct keeper *keeper, struct error *err)
{
	struct record *record = &keeper->record;
	autofree char *now = NULL;

	if (store_lock(&record->store, false, err) < 0)
		return -1;
	if (record_load(record, err) < 0) {
		store_unlock(&record->store);
		return -1;
	}
	now = record_system_id(record);
	store_unlock(&record->store);
	if (record->state == STATE_STARTING && now && strcmp(now, keeper->system_id) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"workspace %s is not being started any more, because another command has ended it meanwhile: start it again",
		record->id);
}

int keeper_keep(struct keeper *keeper, void (*ready)(void *data), void *data, struct error *err)
{
	struct error failure = {0};
	char detail[1024] = "";
	enum state state;

	if (confirm_start(keeper, err) < 0)
		return -1;
	keeper->on_ready = ready;
	keeper->data = data;
	keeper->outcome.workload = keeper->config.command != NULL;
	keeper->outcome.timeout_seconds = keeper->config.timeout_seconds;
	if (make_machine(keeper, &failure) < 0)
		keeper_end(keeper, INTENT_FAILED, &failure);
	follow(keeper);
	hear_last_words(keeper);
	state = keeper_outcome(keeper, detail, sizeof(detail), &failure);
	hcs_system_close(keeper->system);
	keeper->system = NULL;
	/* Ends the machine if HCS has not reported its end, or if HCS was restarted. In both cases
	 * the machine may still run. */
	if (keeper->started && (!*keeper->exit_type || strcmp(keeper->exit_type, HCS_GONE) == 0))
		hcs_end_leftover(keeper->system_id);
	keeper_log("%s%s%s", state_names[state], *detail ? ": " : "", detail);
	keeper_note(keeper, state, detail);
	return failure.code ? error_copy(err, &failure) : 0;
}

/* --- its beginning -----------------------------------------------------------------------------
 */

static void on_word(void *data, enum pipe_word word)
{
	struct keeper *keeper = data;
	enum notice_kind kind = word == PIPE_HALT   ? NOTICE_HALT
				: word == PIPE_STOP ? NOTICE_STOP
						    : NOTICE_KILL;

	inbox_post(keeper->inbox, kind, NULL, NULL);
}

static int load_kept(struct keeper *keeper, const char *state_dir, const char *id,
		     struct error *err)
{
	struct record opened;

	if (record_open(&opened, state_dir, id, NULL, err) < 0)
		return -1;
	keeper->record = opened;
	keeper->manifest = store_read(&keeper->record.store, "workspace.json", err);
	keeper->runtime =
		keeper->manifest ? store_read(&keeper->record.store, "runtime.json", err) : NULL;
	if (!keeper->runtime || record_load(&keeper->record, err) < 0)
		return -1;
	keeper->record.identity = json_object_get(keeper->runtime, "identity");
	keeper->system_id = json_text(keeper->runtime, "systemId", "");
	return config_from_record(json_object_get(keeper->manifest, "config"), &keeper->config,
				  err);
}

struct keeper *keeper_begin(const char *state_dir, const char *id, struct error *err)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	keeper->inbox = inbox_new(err);
	if (!keeper->inbox || load_kept(keeper, state_dir, id, err) < 0 ||
	    pipe_serve(keeper->system_id, on_word, keeper, err) < 0)
		return NULL;
	keeper_await(keeper, AWAIT_NOTHING, 0);
	return keeper;
}

/* --- one that was left behind ------------------------------------------------------------------
 */

/* Writes a line to the report. Ignores an error, since a command that has exited does not need the
 * line. */
static void report_line(HANDLE report, const char *line)
{
	DWORD n;

	(void)(WriteFile(report, line, (DWORD)strlen(line), &n, NULL) &&
	       WriteFile(report, "\n", 1, &n, NULL));
}

static void report_ready(void *data)
{
	report_line(data, "ready");
}

static void report_failure(HANDLE report, const struct error *failure)
{
	json_auto_t *told = json_object();
	autofree char *line = NULL;

	if (json_put_error(told, failure, NULL) == 0)
		line = json_line(told, NULL);
	if (line)
		report_line(report, line);
}

int keeper_main(const char *report_number, const char *state_dir, const char *id)
{
	HANDLE report = (HANDLE)(uintptr_t)strtoull(report_number, NULL, 10);
	struct error err = {0};
	struct keeper *keeper = keeper_begin(state_dir, id, &err);
	int status = -1;

	if (keeper) {
		report_line(report, "alive");
		status = keeper_keep(keeper, report_ready, report, &err);
	}
	if (status < 0)
		report_failure(report, &err);
	return status < 0 ? 1 : 0;
}
