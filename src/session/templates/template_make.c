/* SPDX-License-Identifier: MIT */
/*
 * Makes a template. A machine of the base is started like the machine of a session, but with an
 * option by which it can be saved. The machine runs in the foreground, so that it ends when the
 * process that makes the template exits. Commands are run in the machine, and then the machine is
 * saved. The saved files are sealed, tested, and given their final name. Meanwhile the directory
 * <bundle>/.warming contains
 *
 *   work/state/  a state directory with one workspace
 *   template/    the new template
 *   trial.qcow2  the disk of a machine that was restored from the new template
 *   before/      the template that the new one replaces
 *
 * The directory .warming is removed at the end, even if the making failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/foreground.h"
#include "api/machine.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "channel/control.h"
#include "channel/hasher.h"
#include "channel/words.h"
#include "session/bases/first_commands.h"
#include "session/bases/provision.h"
#include "session/templates/template_warming.h"

#define BEFORE "before"
/* The names of the saved machine's files, which the supervisor leaves in the workspace. */
#define SAVED_RAM "template.ram"
#define SAVED_STATE "template.state"

/* --- the machine ----------------------------------------------------------------------------- */

static int copy_empty_layer(const struct warming *w, struct error *err)
{
	autoclose int from =
		openat(w->base->fd, BASE_LAYER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (from < 0)
		return error_errno(err, errno, "%s/" BASE_LAYER, w->base->path);
	return clone_with_digest(from, w->to, TEMPLATE_DISK, NULL, err);
}

/* Returns the properties of the machine that will be saved. Each session that is restored from the
 * template has these properties. */
static struct microagent_machine saved_machine(const struct warming *w)
{
	const struct microagent_machine asked = {.accelerator = w->spec->machine.accelerator,
						 .network = "isolated"};

	return base_machine(w->base, &asked);
}

static json_t *saved_config(const struct warming *w, const struct base_file files[BASE_FILES],
			    char *disk, struct error *err)
{
	const struct microagent_spec spec = {.machine = saved_machine(w)};
	struct creation made = CREATION_NONE;
	json_auto_t *config = NULL;

	made.kernel.path = files[BASE_FILE_KERNEL].path;
	made.rootfs = disk;
	made.image.env = json_object_get(w->base->metadata, "env");
	config = creation_config(w->machines, &made, &spec, err);
	if (!config || json_put(config, "hotplug", json_true(), err) < 0 ||
	    json_put_string(config, "rootfsBase", files[BASE_FILE_DISK].path, err) < 0)
		return NULL;
	return steal_ptr(&config);
}

static int boot_with(struct warming *w, const struct base_file files[BASE_FILES], char *disk,
		     const char *option, struct error *err)
{
	json_t *config = saved_config(w, files, disk, err);
	json_auto_t *request =
		config ? request_new(w->machines, "run", PROVISION_MACHINE, config, err) : NULL;

	return request ? foreground_boot(w->machines, request, option, true, w->cancel.fd,
					 &w->supervisor, err)
		       : -1;
}

int warming_boot(struct warming *w, const char *file, const char *option, struct error *err)
{
	autofree char *disk = path_join(w->path, file, err);
	struct base_file files[BASE_FILES];
	int status;

	if (!disk || base_files(w->base, files, err) < 0)
		return -1;
	status = boot_with(w, files, disk, option, err);
	base_files_free(files);
	return status;
}

void warming_end_machine(struct warming *w)
{
	supervisor_run_free(&w->supervisor);
	w->supervisor = (struct supervisor_run)SUPERVISOR_RUN_NONE;
	provision_wait_gone(w->path);
}

static int boot_template(struct warming *w, struct error *err)
{
	char accelerator[8] = "";

	provision_log_doing(&w->log, "booting a machine of %s", w->base->name.full);
	w->machines = provision_agent(w->agent, w->path, err);
	if (!w->machines || copy_empty_layer(w, err) < 0 ||
	    warming_boot(w, TEMPLATE_DIR "/" TEMPLATE_DISK, "--template-new", err) < 0)
		return -1;
	microagent_accelerator(w->machines, PROVISION_MACHINE, accelerator, NULL);
	if (w->spec->booted)
		w->spec->booted(w->spec->data, accelerator);
	return 0;
}

/* --- commands in the machine ----------------------------------------------------------------- */

static int on_warm_output(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	struct warming *w = data;

	return provision_log_output(&w->log, stream, bytes, len);
}

#define COMMAND_SHOWN 200

/* Writes a command for a message: its words with a space between two words. A long command is cut
 * off. */
static void command_text(const char *const *words, char out[COMMAND_SHOWN])
{
	size_t used = 0;

	out[0] = '\0';
	for (; *words && used < COMMAND_SHOWN; words++)
		used += (size_t)snprintf(out + used, COMMAND_SHOWN - used, "%s%s", used ? " " : "",
					 *words);
	if (used >= COMMAND_SHOWN)
		snprintf(out + COMMAND_SHOWN - 4, 4, "...");
	for (char *c = out; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
}

/* Checks the result of a warm-up command. If the command failed, no template is made. */
static int judge_warm(const struct warming *w, const char *command,
		      const struct microagent_result *result, struct error *err)
{
	if (w->log.failed.code)
		return error_copy(err, &w->log.failed);
	if (result->cancelled)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (result->start_error[0])
		return error_set(err, ERR_INVALID, "\"%s\" cannot be run in the base: %s", command,
				 result->start_error);
	if (result->timed_out)
		return error_set(
			err, ERR_TIMEOUT,
			"the command \"%s\" did not end within %llu s: look at what it waits for, or make it shorter",
			command, (unsigned long long)limit_get(LIMIT_PROVISION_MS) / 1000);
	return result->exit_code == 0
		       ? 0
		       : error_set(err, ERR_IO, "the command \"%s\" ended with exit code %d",
				   command, result->exit_code);
}

static int run_warm(struct warming *w, const char *const *words, struct error *err)
{
	const struct microagent_exec exec = {.command = words};
	const struct microagent_callbacks callbacks = {.output = on_warm_output, .data = w};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_PROVISION_MS), .cancel = &w->cancel};
	struct microagent_guest *guest = guest_handle_open(w->machines, PROVISION_MACHINE, err);
	struct microagent_result result = {0};
	char command[COMMAND_SHOWN];
	int status;

	command_text(words, command);
	provision_log_doing(&w->log, "running %s", command);
	status = guest ? microagent_guest_stream(guest, &exec, &callbacks, &limits, &result, err)
		       : -1;
	provision_log_flush(&w->log);
	if (status == 0)
		status = judge_warm(w, command, &result, err);
	microagent_result_free(&result);
	microagent_guest_close(guest);
	return status;
}

static int warm_up(struct warming *w, struct error *err)
{
	for (const char *const *const *run = w->spec->run; run && *run; run++)
		if (run_warm(w, *run, err) < 0)
			return -1;
	provision_log_doing(&w->log, "running the first commands");
	return first_commands_try(w->machines, PROVISION_MACHINE, err);
}

/* --- saved ----------------------------------------------------------------------------------- */

static int ask_save(struct warming *w, const struct workspace *ws, struct error *err)
{
	/* The time limit is the sum of the limits of three steps: the guest stops its work, the
	 * devices are saved, and the memory is saved. */
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + 3 * limit_get(LIMIT_SAVE_MS);
	json_auto_t *request = json_pack("{s:s}", "command", "save");
	json_auto_t *answer = NULL;

	if (!request)
		return error_errno(err, ENOMEM, "template");
	if (control_ask_or_cancel(ws->fd, request, clock_mono_ns() + wait * NS_PER_MS, w->cancel.fd,
				  &answer, err) < 0)
		return -1;
	w->saved = json_incref(json_object_get(answer, "save"));
	if (!json_is_object(json_object_get(w->saved, "facts")))
		return error_set(
			err, ERR_IO,
			"the supervisor's answer does not say what it has saved: this is a bug of microagent");
	return 0;
}

/* Saves the machine, ends it, and moves the saved files into the template. A saved machine never
 * runs on. */
static int save(struct warming *w, struct error *err)
{
	auto_existing struct open_workspace existing = {0};

	provision_log_doing(&w->log, "saving it");
	if (open_workspace_named(w->machines, PROVISION_MACHINE, &existing, err) < 0)
		return -1;
	if (ask_save(w, &existing.ws, err) < 0)
		return -1;
	warming_end_machine(w);
	if (renameat(existing.ws.fd, SAVED_RAM, w->to, TEMPLATE_RAM) < 0)
		return error_errno(err, errno, SAVED_RAM);
	if (renameat(existing.ws.fd, SAVED_STATE, w->to, TEMPLATE_STATE) < 0)
		return error_errno(err, errno, SAVED_STATE);
	return 0;
}

/* --- sealed ---------------------------------------------------------------------------------- */

/* Seals a file of the template, and returns the object {sha256, bytes} about the file. The caller
 * releases it. */
static json_t *seal_part(const struct warming *w, const char *file, struct error *err)
{
	char digest[DIGEST_TEXT];
	json_t *record;
	struct stat st;

	if (base_seal_file(w->to, file, &st, digest, err) < 0)
		return NULL;
	record = json_pack("{s:s, s:I}", "sha256", digest, "bytes", (json_int_t)st.st_size);
	if (!record)
		error_errno(err, ENOMEM, "template");
	return record;
}

static int put_parts(const struct warming *w, json_t *record, struct error *err)
{
	static const struct {
		const char *key, *file;
	} parts[] = {{"ram", TEMPLATE_RAM}, {"state", TEMPLATE_STATE}, {"disk", TEMPLATE_DISK}};
	json_t *resident = json_object_get(w->saved, "residentBytes");

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		json_t *part = seal_part(w, parts[i].file, err);

		if (!part || json_put(record, parts[i].key, part, err) < 0)
			return -1;
	}
	return json_put(json_object_get(record, "ram"), "residentBytes",
			resident ? json_incref(resident) : json_integer(0), err);
}

static int put_run(const struct warming *w, json_t *record, struct error *err)
{
	json_auto_t *run = json_array();

	for (const char *const *const *words = w->spec->run; words && *words; words++)
		if (json_array_append_new(run, words_json(*words, err)) < 0)
			return error_errno(err, ENOMEM, "template");
	return json_array_size(run) ? json_put(record, "run", json_incref(run), err) : 0;
}

static json_t *describe_template(const struct warming *w, struct error *err)
{
	const struct microagent_machine machine = saved_machine(w);
	json_auto_t *record = json_object();
	char now[CLOCK_TEXT];

	clock_rfc3339(clock_real_ns(), now);
	if (json_put(record, "format", json_integer(TEMPLATE_FORMAT), err) < 0 ||
	    json_put_string(record, "createdAt", now, err) < 0 || put_run(w, record, err) < 0 ||
	    json_put(record, "facts", json_incref(json_object_get(w->saved, "facts")), err) < 0 ||
	    json_put(record, "memoryMiB", json_integer(machine.memory_mib), err) < 0 ||
	    json_put(record, "cpuCount", json_integer(machine.cpus), err) < 0 ||
	    put_parts(w, record, err) < 0)
		return NULL;
	return steal_ptr(&record);
}

static void remember_parts(const struct warming *w, const json_t *record)
{
	static const struct {
		const char *key, *file;
	} rows[] = {{"ram", TEMPLATE_RAM}, {"state", TEMPLATE_STATE}, {"disk", TEMPLATE_DISK}};
	struct stat st;
	char digest[DIGEST_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		base_remember_sealed(
			w->to, rows[i].file,
			json_text(json_object_get(record, rows[i].key), "sha256", NULL));
	/* The digest of the file template.json is remembered, because each session records this
	 * digest to identify its template. */
	if (base_seal_file(w->to, TEMPLATE_RECORD, &st, digest, NULL) == 0)
		base_remember_sealed(w->to, TEMPLATE_RECORD, digest);
}

static int seal_template(const struct warming *w, struct error *err)
{
	json_auto_t *record = describe_template(w, err);
	autofree char *text = record ? json_pretty(record, err) : NULL;

	if (!text || path_replace_file_at(w->to, TEMPLATE_RECORD, text, strlen(text), 0444,
					  PATH_SYNC, err) < 0)
		return -1;
	if (fchmod(w->log.fd, 0444) < 0 || file_sync(w->log.fd) < 0 || file_sync(w->to) < 0)
		return error_errno(err, errno, TEMPLATE_DIR);
	remember_parts(w, record);
	return 0;
}

/* Publishes the template: renames the old template, and then gives the new template its name. If
 * this process is killed between the two renames, the base has no template. Sessions of the base
 * then boot, which is slower but not wrong. */
static int publish_template(const struct warming *w, struct error *err)
{
	int bundle = w->base->fd;

	if (renameat(bundle, TEMPLATE_DIR, w->fd, BEFORE) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s/" TEMPLATE_DIR, w->base->path);
	if (renameat(w->fd, TEMPLATE_DIR, bundle, TEMPLATE_DIR) < 0)
		return error_errno(err, errno, "%s/" TEMPLATE_DIR, w->base->path);
	return file_sync(bundle) < 0 ? error_errno(err, errno, "%s", w->base->path) : 0;
}

/* --- making the template --------------------------------------------------------------------- */

static int make_template(struct warming *w, struct error *err)
{
	if (boot_template(w, err) < 0 || warm_up(w, err) < 0 || save(w, err) < 0)
		return provision_explain_lost(&w->supervisor, err);
	provision_log_doing(&w->log, "sealing it");
	if (seal_template(w, err) < 0)
		return -1;
	provision_log_doing(&w->log, "restoring one of it");
	return template_try(w, err) < 0 ? provision_explain_lost(&w->supervisor, err)
					: publish_template(w, err);
}

static int make_logged(struct warming *w, struct error *err)
{
	autoclose int to = path_open_dir_at(w->fd, TEMPLATE_DIR, true, 0700, err);
	autoclose int log =
		to < 0 ? -1
		       : openat(to, TEMPLATE_LOG,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int status;

	if (to < 0)
		return -1;
	if (log < 0)
		return error_errno(err, errno, TEMPLATE_LOG);
	w->to = to;
	provision_log_init(&w->log, w->spec->said, w->spec->data, log);
	status = make_template(w, err);
	supervisor_run_free(&w->supervisor);
	microagent_close(w->machines);
	if (status < 0)
		provision_log_keep(&w->log, w->agent, to, TEMPLATE_LOG, w->base->name.name,
				   "no template was made", err);
	provision_log_free(&w->log);
	json_decref(w->saved);
	return status;
}

static int warm_base(const struct microagent *agent, const struct base *base,
		     const struct microagent_warm_spec *spec, struct error *err)
{
	struct error why = {0};
	struct warming w = {
		.agent = agent,
		.spec = spec,
		.base = base,
		.supervisor = SUPERVISOR_RUN_NONE,
		.cancel = {.fd = spec->cancel > 0 ? spec->cancel : -1},
	};
	autofree char *path = path_join(base->path, TEMPLATE_WARMING, err);
	int status;

	if (!path)
		return -1;
	w.path = path;
	w.fd = warming_begin(base, err);
	if (w.fd < 0)
		return -1;
	status = make_logged(&w, &why);
	warming_end(base, w.fd);
	return status < 0 ? error_copy(err, &why) : 0;
}

static int check_warmable(const struct microagent *agent, const struct base *base,
			  struct error *err)
{
	if (base_is_macos(base))
		return error_set(
			err, ERR_UNSUPPORTED,
			"base %s is macOS, for which no template can be made: its sessions are always booted",
			base->name.full);
	if (!agent->backend->templates)
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s cannot save machines, so it has no templates",
				 agent->backend->name);
	return base_check(base, err);
}

int microagent_base_warm(struct microagent *agent, const char *word,
			 const struct microagent_warm_spec *spec, json_t **base, struct error *err)
{
	int before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	auto_base struct base of = BASE_NONE;
	int status = -1;

	if (machine_check(&spec->machine, MACHINE_TEMPLATE, err) == 0 &&
	    base_open(agent, word, BASE_SHARED, &of, err) == 0 &&
	    check_warmable(agent, &of, err) == 0)
		status = warm_base(agent, &of, spec, err);
	digest_cancel_by(before);
	if (status == 0 && base) {
		*base = base_tell(&of, err);
		status = *base ? 0 : -1;
	}
	return status;
}

/* --- dropped --------------------------------------------------------------------------------- */

int microagent_base_cool(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;
	int warming, status = 0;

	if (base_open(agent, word, BASE_SHARED, &base, err) < 0 ||
	    (warming = warming_begin(&base, err)) < 0)
		return -1;
	if (renameat(base.fd, TEMPLATE_DIR, warming, BEFORE) < 0) {
		status = errno == ENOENT ? error_set(err, ERR_NOT_FOUND, "base %s has no template",
						     base.name.full)
					 : error_errno(err, errno, "%s/" TEMPLATE_DIR, base.path);
		if (err && err->code == ERR_NOT_FOUND)
			error_reason(err, REASON_NO_TEMPLATE, base.name.full);
	}
	warming_end(&base, warming);
	return status;
}
