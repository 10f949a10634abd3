/* SPDX-License-Identifier: MIT */
/* Runs the steps of a provisioning that happen in the guest: the verbs of microagent-files, and the
 * script. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "session/bases/provision.h"

#define HELPER "microagent-files"
#define ROOT_USER "0"
/* These paths are in a file system in the guest's memory, so the files do not get onto the guest's
 * disk. */
#define GUEST_STAGE "/run/microagent-stage"
#define GUEST_SCRIPT "/run/microagent-provision"
/* The largest size in bytes of a script for macOS, which is passed as one argument. Linux refuses a
 * longer argument. macOS would accept one, but the limit is the same on both systems. */
#define MACOS_SCRIPT_BYTES 131000

static int check_cancelled(const struct microagent_result *result, struct error *err)
{
	return result->cancelled ? error_set(err, ERR_UNAVAILABLE, "cancelled") : 0;
}

/* Sets the error for a failed run of microagent-files in the guest. The first line that
 * microagent-files writes to stderr is an error code. The lines after it are the message. */
static int explain_helper(const struct provisioning *p, const struct microagent_result *result,
			  struct error *err)
{
	const char *text = result->stderr_bytes ? result->stderr_bytes : "";
	size_t code_len = strcspn(text, "\n");
	char code[32];

	if (result->exit_code != 1 || !text[code_len]) {
		error_set(err, ERR_UNSUPPORTED,
			  "the guest's software in %s is too old to make a base",
			  p->making->kernel.initrd);
		return error_reason(err, REASON_INITRD_OLD, p->making->kernel.initrd);
	}
	snprintf(code, sizeof(code), "%.*s", (int)code_len, text);
	return error_set(err, error_code_from_name(code), "making the base failed in the guest: %s",
			 text + code_len + 1);
}

int provision_helper(struct provisioning *p, const char *verb, struct error *err)
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
	autofree char *stage = path_join(p->path, PROVISION_STAGE, err);
	autofree char *from = stage ? path_join(stage, what, err) : NULL;

	return from ? microagent_guest_copy_in(p->guest, from, to, &options, &limits, err) : -1;
}

int provision_stage_in_guest(struct provisioning *p, struct error *err)
{
	size_t count = json_array_size(p->stage.files);

	if (count > 0)
		provision_log_doing(&p->log, "staging %zu file%s", count, count == 1 ? "" : "s");
	if (copy_in(p, STAGE_FILES, GUEST_STAGE, err) < 0)
		return -1;
	return p->spec->script ? copy_in(p, STAGE_SCRIPT, GUEST_SCRIPT, err) : 0;
}

static int on_script_output(void *data, enum microagent_output stream, const void *bytes,
			    size_t len)
{
	struct provisioning *p = data;

	return provision_log_output(&p->log, stream, bytes, len);
}

static int judge_script(const struct provisioning *p, const struct microagent_result *result,
			struct error *err)
{
	const char *name = json_text(p->stage.script, "name", NULL);
	const char *step = p->log.step;

	if (p->log.failed.code)
		return error_copy(err, &p->log.failed);
	if (check_cancelled(result, err) < 0)
		return -1;
	if (result->start_error[0])
		return error_set(err, ERR_INVALID, "%s cannot be run in the image: %s", name,
				 result->start_error);
	if (result->timed_out)
		return error_set(
			err, ERR_TIMEOUT,
			"%s did not end within %llu s: look at what this script waits for, or make it shorter",
			name, (unsigned long long)limit_get(LIMIT_PROVISION_MS) / 1000);
	if (result->exit_code == 0)
		return 0;
	return error_set(err, ERR_IO, "%s ended with exit code %d%s%s%s", name, result->exit_code,
			 *step ? " in its step \"" : "", step, *step ? "\"" : "");
}

static int run_in_guest(struct provisioning *p, const struct microagent_exec *exec,
			struct error *err)
{
	const struct microagent_callbacks callbacks = {.output = on_script_output, .data = p};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_PROVISION_MS), .cancel = &p->cancel};
	struct microagent_result result;
	int status;

	provision_log_doing(&p->log, "running %s", json_text(p->stage.script, "name", NULL));
	if (microagent_guest_stream(p->guest, exec, &callbacks, &limits, &result, err) < 0)
		return -1;
	provision_log_flush(&p->log);
	status = judge_script(p, &result, err);
	microagent_result_free(&result);
	return status;
}

int provision_run_script(struct provisioning *p, struct error *err)
{
	static const char *const env[] = {"MICROAGENT_STAGE=" GUEST_STAGE, NULL};
	static const char *const by_shell[] = {"/bin/sh", "-e", GUEST_SCRIPT, NULL};
	const struct microagent_exec exec = {
		.command = p->stage.has_program ? by_shell + 2 : by_shell,
		.env = env,
		.cwd = GUEST_STAGE,
		.user = ROOT_USER,
	};

	return run_in_guest(p, &exec, err);
}

int provision_run_in_macos(struct provisioning *p, struct error *err)
{
	autobuf struct buf text = BUF_INIT(MACOS_SCRIPT_BYTES);
	autofree char *stage = path_join(p->path, PROVISION_STAGE, err);
	autoclose int dir = stage ? path_open_dir(stage, err) : -1;
	const char *command[] = {"/bin/sh", "-e", "-c", NULL, NULL};
	const struct microagent_exec exec = {.command = command, .user = ROOT_USER};

	if (dir < 0 || path_read_file_at(dir, STAGE_SCRIPT, &text, err) < 0)
		return error_prefix(err, "%s", json_text(p->stage.script, "name", "script"));
	if (memchr(buf_bytes(&text), '\0', text.len))
		return error_set(err, ERR_INVALID,
				 "the script %s has a NUL byte in it, which no script can have",
				 json_text(p->stage.script, "name", NULL));
	command[3] = buf_string(&text);
	return run_in_guest(p, &exec, err);
}
