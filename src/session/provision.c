/* SPDX-License-Identifier: MIT */
/*
 * What makes a base of an image: one boot of its disk, in the foreground, so that the machine ends
 * with whoever makes the base. Below the base's directory there is meanwhile
 *
 *   work/state/   a state directory with one workspace, `provision`
 *   work/stage/   what the guest is given
 *
 * and nothing of it is left when the base is sealed. The guest does all that is done to its disk: the
 * host parses no file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/foreground.h"
#include "api/guest.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "session/base_making.h"
#include "session/provision_log.h"
#include "session/provision_stage.h"

#define WORK "work"
#define STATE WORK "/state"
#define STAGE WORK "/stage"
#define MACHINE "provision"
#define LOGS_DIR "logs"
#define HELPER "microagent-files"
#define ROOT_USER "0"
/* In the guest, in memory: nothing of it is on the disk. */
#define GUEST_STAGE "/run/microagent-stage"
#define GUEST_SCRIPT "/run/microagent-provision"

struct provisioning {
	struct making *making;
	const struct microagent_base_spec *spec;
	char *path;		  /* of the making */
	struct microagent *agent; /* of work/state */
	struct supervisor_run supervisor;
	struct microagent_guest *guest;
	struct microagent_cancel cancel;
	struct provision_stage stage;
	struct provision_log log;
};

bool provision_is_asked(const struct microagent_base_spec *spec)
{
	return spec->script || spec->size_mib || (spec->stage && spec->stage[0]);
}

/* --- the machine -------------------------------------------------------------------------------- */

static uint64_t killed_by(void)
{
	return clock_mono_ns() + limit_get(LIMIT_KILL_MS) * NS_PER_MS;
}

void provision_wait_gone(const char *dir)
{
	autofree char *path = path_join(dir, STATE, NULL);
	struct state_dir state;
	struct workspace ws;

	if (!path || state_dir_open(path, false, &state, NULL) < 0)
		return;
	if (workspace_open(&state, MACHINE, false, &ws, NULL) == 0) {
		if (ws.fd >= 0)
			(void)lease_wait_free(&ws, killed_by(), NULL);
		workspace_close(&ws);
	}
	state_dir_close(&state);
}

/* What is staged lies in the guest's memory, half of which such a file system may have. */
static int64_t memory_mib(const struct provisioning *p)
{
	int64_t least = (int64_t)limit_get(LIMIT_PROVISION_MEMORY_MIB);
	int64_t staged = p->stage.bytes >> 19;

	least += staged;
	return p->spec->memory_mib > least ? p->spec->memory_mib : least;
}

static json_t *machine_config(const struct provisioning *p, struct error *err)
{
	const struct microagent_spec spec = {
		.accelerator = p->spec->accelerator,
		.network = p->spec->network,
		.network_interface = p->spec->network_interface,
		.allow = p->spec->allow,
		.memory_mib = memory_mib(p),
		.cpus = p->spec->cpus,
	};
	autofree char *disk = path_join(p->path, BASE_DISK, err);
	struct make make = MAKE_NONE;

	if (!disk)
		return NULL;
	make.kernel.path = p->making->kernel.path;
	make.rootfs = disk;
	return make_config(p->agent, &make, &spec, err);
}

static int open_state(struct provisioning *p, struct error *err)
{
	autofree char *path = path_join(p->path, STATE, err);
	struct state_dir dir;

	if (!path || state_dir_open(path, true, &dir, err) < 0)
		return -1;
	state_dir_close(&dir);
	p->agent = microagent_open(path, err);
	if (!p->agent)
		return -1;
	microagent_on_wait(p->agent, p->making->agent->wait_fn, p->making->agent->wait_data);
	return 0;
}

static int boot(struct provisioning *p, struct error *err)
{
	json_auto_t *request = NULL;
	json_t *config;
	char accelerator[8] = "";

	provision_log_doing(&p->log, "booting %s", p->making->image.path);
	if (open_state(p, err) < 0)
		return -1;
	config = machine_config(p, err);
	request = config ? request_new("run", MACHINE, config, err) : NULL;
	if (!request ||
	    foreground_boot(p->agent, request, NULL, true, p->cancel.fd, &p->supervisor, err) < 0)
		return -1;
	microagent_accelerator(p->agent, MACHINE, accelerator, NULL);
	if (p->spec->booted)
		p->spec->booted(p->spec->data, accelerator);
	p->guest = microagent_connect(p->agent, MACHINE, (uint32_t)limit_get(LIMIT_DIAL_MS), err);
	return p->guest ? 0 : -1;
}

/* Powered off by itself, or the disk is not fit to be sealed. */
static int check_end(const json_t *response, struct error *err)
{
	const json_t *event = json_object_get(response, "event");
	const char *state = json_string_value(json_object_get(event, "state"));
	const char *detail = json_string_value(json_object_get(event, "detail"));

	if (state && strcmp(state, state_names[STATE_STOPPED]) == 0 &&
	    (!detail || !strstr(detail, "unclean")))
		return 0;
	return error_set(err, ERR_IO, "the machine was not switched off in order (%s: %s)",
			 state ? state : "no state", detail ? detail : "no detail");
}

static int shut_down(struct provisioning *p, struct error *err)
{
	json_auto_t *response = NULL;

	provision_log_doing(&p->log, "switching the machine off");
	microagent_guest_close(steal_ptr(&p->guest));
	if (microagent_stop(p->agent, MACHINE, &response, err) < 0)
		return -1;
	supervisor_run_free(&p->supervisor);
	p->supervisor = (struct supervisor_run)SUPERVISOR_RUN_NONE;
	return check_end(response, err);
}

/* --- commands in it ----------------------------------------------------------------------------- */

static int check_cancelled(const struct microagent_result *result, struct error *err)
{
	return result->cancelled ? error_set(err, ERR_UNAVAILABLE, "cancelled") : 0;
}

/* What the helper says of a failure: a code, and a text in the next line. */
static int explain_helper(const struct provisioning *p, const struct microagent_result *result,
			  struct error *err)
{
	const char *text = result->stderr_bytes ? result->stderr_bytes : "";
	size_t code_len = strcspn(text, "\n");
	char code[32];

	if (result->exit_code != 1 || !text[code_len])
		return error_set(err, ERR_UNSUPPORTED,
				 "the guest's software in %s is too old to make a base: "
				 "`microagent kernel install` (or build) renews it",
				 p->making->kernel.initrd);
	snprintf(code, sizeof(code), "%.*s", (int)code_len, text);
	return error_set(err, error_code_from_name(code), "in the guest: %s", text + code_len + 1);
}

/* out: what it says on stdout goes to the log. */
static int run_helper(struct provisioning *p, const char *verb, struct error *err)
{
	const char *const command[] = {HELPER, verb, "/", NULL};
	const struct microagent_exec exec = {.command = command, .user = ROOT_USER};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_PROVISION_MS), .cancel = &p->cancel};
	struct microagent_result result;
	int status;

	if (microagent_guest_run(p->guest, &exec, &limits, &result, err) < 0)
		return -1;
	status = check_cancelled(&result, err);
	if (status == 0 && result.exit_code != 0)
		status = explain_helper(p, &result, err);
	if (status == 0 && result.stdout_len > 0)
		status = provision_log_output(&p->log, MICROAGENT_STDOUT, result.stdout_bytes,
					      result.stdout_len);
	microagent_result_free(&result);
	return status;
}

static int copy_in(struct provisioning *p, const char *what, const char *to, struct error *err)
{
	const struct microagent_copy options = {.user = ROOT_USER};
	const struct microagent_run_limits limits = {.cancel = &p->cancel};
	autofree char *stage = path_join(p->path, STAGE, err);
	autofree char *from = stage ? path_join(stage, what, err) : NULL;

	return from ? microagent_guest_copy_in(p->guest, from, to, &options, &limits, err) : -1;
}

static int stage_in_guest(struct provisioning *p, struct error *err)
{
	size_t count = json_array_size(p->stage.files);

	if (count > 0)
		provision_log_doing(&p->log, "staging %zu file%s", count, count == 1 ? "" : "s");
	if (copy_in(p, STAGE_FILES, GUEST_STAGE, err) < 0)
		return -1;
	return p->spec->script ? copy_in(p, STAGE_SCRIPT, GUEST_SCRIPT, err) : 0;
}

static int on_output(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	struct provisioning *p = data;

	return provision_log_output(&p->log, stream, bytes, len);
}

static int judge_script(const struct provisioning *p, const struct microagent_result *result,
			struct error *err)
{
	const char *name = json_string_value(json_object_get(p->stage.script, "name"));
	const char *step = p->log.step;

	if (p->log.failed.code)
		return error_copy(err, &p->log.failed);
	if (check_cancelled(result, err) < 0)
		return -1;
	if (result->start_error[0])
		return error_set(err, ERR_INVALID, "%s cannot be run in the image: %s", name,
				 result->start_error);
	if (result->timed_out)
		return error_set(err, ERR_TIMEOUT, "%s was not done in %llu s", name,
				 (unsigned long long)limit_get(LIMIT_PROVISION_MS) / 1000);
	if (result->exit_code == 0)
		return 0;
	return error_set(err, ERR_IO, "%s ended with exit code %d%s%s%s", name, result->exit_code,
			 *step ? " in its step \"" : "", step, *step ? "\"" : "");
}

static int run_script(struct provisioning *p, struct error *err)
{
	static const char *const env[] = {"MICROAGENT_STAGE=" GUEST_STAGE, NULL};
	static const char *const by_shell[] = {"/bin/sh", "-e", GUEST_SCRIPT, NULL};
	const struct microagent_exec exec = {
		.command = p->stage.has_program ? by_shell + 2 : by_shell,
		.env = env,
		.cwd = GUEST_STAGE,
		.user = ROOT_USER,
	};
	const struct microagent_callbacks callbacks = {.output = on_output, .data = p};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_PROVISION_MS), .cancel = &p->cancel};
	struct microagent_result result;
	int status;

	provision_log_doing(&p->log, "running %s",
			    json_string_value(json_object_get(p->stage.script, "name")));
	if (microagent_guest_stream(p->guest, &exec, &callbacks, &limits, &result, err) < 0)
		return -1;
	provision_log_flush(&p->log);
	status = judge_script(p, &result, err);
	microagent_result_free(&result);
	return status;
}

/* --- all of it ---------------------------------------------------------------------------------- */

static int work(struct provisioning *p, struct error *err)
{
	if (boot(p, err) < 0)
		return -1;
	provision_log_doing(&p->log, "growing its file system to the disk");
	if (run_helper(p, "grow", err) < 0)
		return -1;
	provision_log_doing(&p->log, "making the user agent");
	if (run_helper(p, "account", err) < 0 || stage_in_guest(p, err) < 0 ||
	    (p->spec->script && run_script(p, err) < 0))
		return -1;
	/* Again: the script may have done something to him. */
	provision_log_doing(&p->log, "keeping the user agent to /workspace, /tmp and his home");
	if (run_helper(p, "account", err) < 0 || run_helper(p, "confine", err) < 0)
		return -1;
	return shut_down(p, err);
}

static int copy_stage(struct provisioning *p, struct error *err)
{
	autofree char *path = path_join(p->path, STAGE, err);
	autoclose int dir = path ? path_open_dir(path, err) : -1;

	return dir < 0 ? -1 : provision_stage_copy(dir, p->spec, &p->stage, err);
}

static int describe(const struct provisioning *p, uint64_t began_ns, struct error *err)
{
	uint64_t ms = (clock_mono_ns() - began_ns) / NS_PER_MS;
	double seconds = (double)ms / 1000.0;
	json_auto_t *record = json_pack("{s:O,s:f}", "staged", p->stage.files, "seconds", seconds);

	if (p->stage.script && json_put(record, "script", json_incref(p->stage.script), err) < 0)
		return -1;
	if (!record)
		return error_errno(err, ENOMEM, "base");
	p->making->provisioning = steal_ptr(&record);
	return 0;
}

/* "base-web-2026-05-10T14-22-00Z.log"; a number in front of ".log" where there is one already. */
static int keep_log(const struct provisioning *p, char *out, size_t size,
		    const struct state_dir *logs)
{
	char now[CLOCK_TEXT];

	clock_rfc3339(clock_real_ns(), now);
	now[19] = '\0'; /* the milliseconds */
	now[13] = now[16] = '-';
	for (unsigned i = 1; i < 100; i++) {
		char number[8] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		snprintf(out, size, "base-%s-%sZ%s.log", p->making->base.name, now, number);
		if (renameat2(p->making->fd, BASE_LOG, logs->fd, out, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return -1;
}

/* Of what was said meanwhile; a failure before anything was has no log. */
static void explain_failure(const struct provisioning *p, struct error *err)
{
	struct error why = *err;
	char name[BASE_NAME_MAX + 64];
	struct state_dir logs;

	if (p->log.written == 0 ||
	    state_sub_open(p->making->agent, LOGS_DIR, true, &logs, NULL) < 0)
		return;
	if (keep_log(p, name, sizeof(name), &logs) == 0)
		error_set(err, why.code, "no base was made: %.600s; the log is %s/%s", why.msg,
			  logs.path, name);
	state_dir_close(&logs);
}

static void end(struct provisioning *p)
{
	microagent_guest_close(p->guest);
	supervisor_run_free(&p->supervisor);
	if (p->path)
		provision_wait_gone(p->path);
	microagent_close(p->agent);
	provision_stage_free(&p->stage);
	provision_log_free(&p->log);
	free(p->path);
}

int provision(struct making *m, struct error *err)
{
	uint64_t began_ns = clock_mono_ns();
	struct error why = {0};
	struct provisioning p = {
		.making = m,
		.spec = m->spec,
		.path = path_join(m->dir.path, m->name, &why),
		.supervisor = SUPERVISOR_RUN_NONE,
		.cancel = {.fd = m->spec->cancel > 0 ? m->spec->cancel : -1},
	};
	autoclose int log =
		openat(m->fd, BASE_LOG, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int status = -1;

	provision_log_init(&p.log, m->spec, log);
	if (log < 0)
		error_errno(&why, errno, "%s", BASE_LOG);
	else if (p.path && copy_stage(&p, &why) == 0 && work(&p, &why) == 0)
		status = describe(&p, began_ns, &why);
	end(&p);
	if (status == 0 && (fchmod(log, 0444) < 0 || fsync(log) < 0))
		status = error_errno(&why, errno, "%s", BASE_LOG);
	if (status == 0)
		return path_remove_tree_at(m->fd, WORK, err);
	explain_failure(&p, &why);
	return error_copy(err, &why);
}
