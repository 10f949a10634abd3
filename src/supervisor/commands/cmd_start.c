/* SPDX-License-Identifier: MIT */
/*
 * start and run: start the machine of a workspace. Under the command lock the command checks the
 * state, compares the config with the recorded config, checks the digests of the files, takes the
 * lease, records the event `starting`, and starts the live supervisor. Then the command releases
 * the lock and reads the live supervisor's report. The command start reads until the guest is
 * ready. The command run reads until all processes of the machine have exited.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "channel/hasher.h"
#include "channel/publish.h"
#include "contract/kind.h"
#include "store/audit.h"
#include "store/macos_guests.h"
#include "supervisor/capabilities.h"
#include "supervisor/commands/answer.h"
#include "supervisor/commands/await.h"
#include "supervisor/commands/old_files.h"
#include "supervisor/commands/prepare.h"
#include "supervisor/commands/settle.h"
#include "supervisor/commands/told_to_end.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/handover/ticket.h"
#include "supervisor/inputs/disks.h"
#include "supervisor/inputs/links.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/inputs/rootfs_digest.h"
#include "supervisor/inputs/shares.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/templates/template.h"

struct start {
	struct record record;
	struct boot_files files;
	struct disk_list disks;
	/* The template from which the machine is restored, or which the machine will become. */
	struct template template;
	/* The disks of the bundles. This command has just built them, or prepare built them
	 * earlier. */
	struct bundle_list bundles;
	enum accelerator accelerator;
	char reason[256];
	json_t *marks, *links;
	json_t *found; /* the latest event at the time before the files were checked; NULL: there
		        * was none */
	enum state found_state;
	int report; /* the reading end of the live supervisor's report */
	/* For run: the writing end of the lifeline. The machine ends when this process ends. */
	int lifeline;
	/* For run: the reading end of the lifeline. The live supervisor gets a copy of this
	 * descriptor. */
	int line_end;
	bool made;   /* for run: this command has made the workspace */
	bool failed; /* the start has failed, and the failure is recorded */
};

static void start_mark(struct start *start, const char *name)
{
	json_object_set_new(start->marks, name, json_integer((json_int_t)clock_mono_ns()));
}

/* Checks the config on this host, the files and the accelerator. Called before the workspace is
 * changed in any way. */
static int examine(struct start *start, const struct call *call, struct error *err)
{
	const struct config *config = &call->request->config;

	if (capabilities_check(call->backend, config, err) < 0)
		return -1;
	/* A machine that only reads or writes a disk for a command always runs Linux, so it cannot
	 * read the disk of a macOS guest. */
	if (config->macos.hardware_model && (call->options->reader || call->options->writer))
		return error_set(
			err, ERR_UNSUPPORTED,
			"the machine that reads the disks of other machines runs Linux, which cannot read a macOS guest's file system");
	if (boot_files_open(config, call->backend,
			    call->options->reader   ? ROOTFS_OTHERS_LOOK
			    : call->options->writer ? ROOTFS_OTHERS_WRITE
						    : ROOTFS_BOOT,
			    INITRD_MAKE, &start->files, err) < 0 ||
	    boot_files_require(&start->files, err) < 0 ||
	    shares_check(config, start->record.call->backend, err) < 0 ||
	    cgroup_check(config, err) < 0 || publish_check(config->port_forwards, err) < 0 ||
	    disks_open(config, start->files.file[BOOT_ROOTFS].fd, DISK_BOOT, &start->disks, err) <
		    0)
		return -1;
	return call->backend->accelerator(config, &start->accelerator, start->reason, err);
}

/* Returns true if the machine runs the programs on its disk. A machine with the option --reader or
 * --writer does not run them, so its disk need not have the recorded digest. */
static bool is_started_to_run(const struct start *start)
{
	const struct options *options = start->record.call->options;

	return !options->reader && !options->writer;
}

static bool prepares_first(const struct start *start)
{
	return start->record.call->request->command == COMMAND_RUN &&
	       start->record.state == STATE_UNKNOWN;
}

/* Hashes the files and builds the bundles. Called before the lock is taken, since these steps may
 * take long. */
static int start_make_ready(struct start *start, struct error *err)
{
	if (record_load(&start->record, err) < 0)
		return -1;
	start->found_state = start->record.state;
	start->found = json_incref(start->record.event);
	if (is_started_to_run(start) && rootfs_is_enforced(&start->record.ws, start->record.state))
		boot_files_hash_rootfs(&start->files);
	if (prepares_first(start) &&
	    bundles_build(&start->record.call->request->config, &start->record.dir, NULL,
			  &start->bundles, err) < 0)
		return -1;
	start_mark(start, "verified");
	return 0;
}

/* Requires that the files have their recorded digests. If a file of a session has another digest,
 * also writes this to the session's audit log. The command may write to the log because it holds
 * the lease. */
static int require_unchanged(const struct start *start, const json_t *verification,
			     struct error *err)
{
	const json_t *first = json_array_get(json_object_get(verification, "divergence"), 0);
	const char *name = json_text(first, "artifact", NULL);
	struct error why = {0}, ignored;
	json_auto_t *data = NULL;

	if (verification_require(verification, &why) == 0)
		return 0;
	data = json_pack("{s:O?, s:s}", "divergence", first, "why", why.msg);
	const struct audit_event event = {
		AUDIT_CRITICAL, "base",
		name && strcmp(name, "base") == 0 ? "base.changed" : "artifact.changed", data, 0};

	(void)audit_note(&start->record.ws, &event, &ignored);
	return error_copy(err, &why);
}

/* Requires that the config is equal to the recorded config, and that the files have their recorded
 * digests. */
static int start_admit(struct start *start, const struct manifest *manifest,
		       struct response *response, struct error *err)
{
	const struct config *config = &start->record.call->request->config;
	const struct workspace *ws = &start->record.ws;
	enum state state = start->record.state;

	/* The root file system must have its recorded digest until a machine first runs with it.
	 * After that start the guest may change the file system, so the digest is no longer
	 * compared. */
	if (is_started_to_run(start)) {
		if (rootfs_is_enforced(ws, state)) {
			boot_files_hash_rootfs(&start->files);
		} else {
			if (rootfs_digest_recall(ws, manifest, state, &start->files, err) < 0)
				return -1;
			rootfs_digest_keep(ws, &start->files);
		}
	}
	response->verification =
		boot_files_verify(&start->files, config->image, manifest->artifacts, err);
	if (!response->verification)
		return -1;
	/* Each disk of a bundle is opened only once, so the machine gets the same open file that is
	 * compared here. */
	/* A disk that was just built had no name until it was placed in the workspace. So the disks
	 * are closed, and opened again by their names. */
	bundles_close(&start->bundles);
	if (bundles_open(config, ws, &start->bundles, err) < 0 ||
	    bundles_verify(config, &start->bundles, ws, manifest->artifacts, response->verification,
			   err) < 0 ||
	    bundles_attach(config, &start->bundles, &start->disks, err) < 0)
		return -1;
	return require_unchanged(start, response->verification, err);
}

/* Describes whether the machine boots or is restored. Returns NULL if only a boot was asked for. */
static json_t *describe_origin(const struct start *start)
{
	if (start->template.origin == VM_RESTORED)
		return json_pack("{s:s}", "how", "restored");
	if (!start->template.why[0])
		return NULL;
	return json_pack("{s:s, s:o}", "how", "cold", "why",
			 json_string_lossy(start->template.why, strlen(start->template.why)));
}

static int spawn_live(struct start *start, const int fds[LIVE_FD_END], struct error *err)
{
	const struct call *call = start->record.call;
	autoclose int log =
		openat(start->record.ws.fd, "supervisor.log",
		       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	json_auto_t *disks = NULL, *how = NULL;
	struct proc child = PROC_NONE;
	struct ticket ticket = {
		.state_dir = start->record.dir.path,
		.id = start->record.ws.id,
		.identity = call->request->identity.json,
		.accelerator = start->accelerator,
		.accelerator_reason = start->reason,
		.attach = call->options->attach,
		.remove = call->options->remove,
		.reader = call->options->reader,
		.writer = call->options->writer,
		.origin = start->template.origin,
		.card_mac = start->template.has_card ? start->template.card_mac : NULL,
		.disks_saved = start->template.has_disks,
		.cell_number = call->options->cell_number,
		.facts = start->template.facts,
		.marks = start->marks,
		.links = start->links,
	};

	if (log < 0)
		return error_errno(err, errno, "supervisor.log");
	ticket.disks = disks = disks_json(&start->disks, err);
	ticket.boot = how = describe_origin(start);
	if (!disks ||
	    ticket_spawn(&ticket, fds, &start->disks, call->options->taps_fd, log, &child, err) < 0)
		return -1;
	/* This process does not wait for the exit of the live supervisor, which may live longer.
	 * The end of the report shows that the live supervisor has exited. */
	close(child.pidfd);
	return 0;
}

/* Starts the live supervisor with all descriptors that it needs. This process keeps the reading end
 * of the live supervisor's report. */
static int launch_with(struct start *start, const struct lease *lease, int control,
		       struct error *err)
{
	const struct call *call = start->record.call;
	int report[2];
	int status;

	if (fd_pipe(report, err) < 0)
		return -1;
	start->report = report[0];
	const int fds[LIVE_FD_END] = {
		[LIVE_STATE_DIR] = start->record.dir.fd,
		[LIVE_WORKSPACE] = start->record.ws.fd,
		[LIVE_LEASE] = lease->life,
		[LIVE_LEASE_LOCK] = lease->lock,
		[LIVE_KERNEL] = start->files.file[BOOT_KERNEL].fd,
		[LIVE_INITRD] = start->files.file[BOOT_INITRD].fd,
		[LIVE_ROOTFS] = start->files.file[BOOT_ROOTFS].fd,
		[LIVE_BASE] = start->files.file[BOOT_BASE].fd,
		[LIVE_MODEL] = start->files.file[BOOT_MODEL].fd,
		[LIVE_IDENTIFIER] = start->files.file[BOOT_IDENTIFIER].fd,
		[LIVE_AUXILIARY] = start->files.file[BOOT_AUXILIARY].fd,
		[LIVE_RAM] = start->template.ram_fd,
		[LIVE_STATE] = start->template.state_fd,
		[LIVE_SIBLINGS] = start->template.siblings_fd,
		[LIVE_CONTROL] = control,
		[LIVE_REPORT] = report[1],
		[LIVE_COMMAND] = start->line_end,
		[LIVE_CALLER] = call->options->lifeline_fd,
		[LIVE_CONTAINERS] = call->options->containers_fd,
		[LIVE_LOOPBACK] = call->options->loopback_fd,
	};
	start_mark(start, "launched");
	status = spawn_live(start, fds, err);
	close(report[1]);
	return status;
}

/* Starts the live supervisor. The event `starting` is already recorded, so each later failure is
 * recorded too. */
static int launch(struct start *start, const struct lease *lease, struct error *err)
{
	struct record *record = &start->record;
	struct error ignored;
	/* The socket must listen before the command lock is released. Otherwise a kill that comes
	 * next could not connect to the live supervisor. */
	autoclose int control = sock_listen_at(record->ws.fd, CONTROL_SOCK_NAME, err);

	if (control >= 0 && launch_with(start, lease, control, err) == 0)
		return 0;
	(void)workspace_remove_file(&record->ws, CONTROL_SOCK_NAME, &ignored);
	start->failed = record_note(record, STATE_FAILED, err->msg, &ignored) == 0;
	return -1;
}

/* Locks the files, so that no other machine can use the disks from now on and no other process
 * changes a file between the check and the boot. */
static int start_take_files(struct start *start, struct error *err)
{
	const struct call *call = start->record.call;

	return boot_files_take(&start->files, call->options->reader, err) < 0
		       ? -1
		       : disks_take(&call->request->config, &start->disks, err);
}

/* Requires that no other command has changed the state while the files were checked. There was no
 * machine at that time, so no machine can have ended by itself. If an end is recorded now, or the
 * workspace does not exist any more, another command has done this. The caller of that command
 * relies on it that no machine runs. */
static int start_require_not_overtaken(const struct start *start, struct error *err)
{
	const struct record *record = &start->record;
	const char *done = record->state == STATE_UNKNOWN   ? "deleted"
			   : record->state == STATE_STOPPED ? "stopped"
							    : NULL;
	bool was_at_rest =
		start->found_state == STATE_PREPARED || start->found_state == STATE_HALTED ||
		start->found_state == STATE_STOPPED || start->found_state == STATE_FAILED;

	if (!was_at_rest || !done || json_equal(start->found, record->event))
		return 0;
	return kind_error(record->call->request->identity.runtime_id, ERR_CONFLICT, err,
			  "was %s by another command while its files were being checked", done);
}

/* Checks that the record can be read and matches the request, and that the host's disk has room.
 * Called before anything is written. */
static int start_look(const struct start *start, struct manifest *manifest, struct error *err)
{
	const struct record *record = &start->record;

	if (record_allows(record, record->call->request->command, err) < 0 ||
	    manifest_read_accepted(&record->ws, manifest, err) < 0 ||
	    config_compare(&record->call->request->config, &manifest->config, err) < 0 ||
	    old_files_check(&record->ws, err) < 0 ||
	    state_require_room(record->ws.fd, "the state directory", err) < 0)
		return -1;
	return start->files.ram_root ? 0
				     : state_require_room(start->files.file[BOOT_ROOTFS].fd,
							  "config.rootfsPath", err);
}

/* Does all steps up to the start of the live supervisor. Called under the command lock. */
static int start_begin(struct start *start, struct response *response, struct error *err)
{
	__attribute__((cleanup(manifest_free))) struct manifest manifest = {0};
	struct record *record = &start->record;
	const struct options *options = record->call->options;
	const struct config *config = &record->call->request->config;
	auto_lease struct lease lease = LEASE_NONE;
	bool first;

	if (settle(record, err) < 0 || start_require_not_overtaken(start, err) < 0)
		return -1;
	first = prepares_first(start);
	/* If this command also prepares the workspace, this command locks the files before it
	 * records their digests. Otherwise this command locks the files after it has taken the
	 * lease. */
	if (first) {
		if (start_take_files(start, err) < 0)
			return -1;
		start->made = true;
		if (is_started_to_run(start))
			boot_files_hash_rootfs(&start->files);
		if (prepare_workspace(record, &start->files, &start->bundles, err) < 0 ||
		    record_load(record, err) < 0)
			return -1;
	}
	if (start_look(start, &manifest, err) < 0 ||
	    (manifest.config.macos.hardware_model &&
	     macos_guests_check_room(&record->dir, record->ws.id, err) < 0))
		return -1;
	/* Waits a short time for processes of this workspace that are just exiting. If other
	 * processes remain, lease_take() fails. After lease_take() no process of an earlier machine
	 * lives. */
	(void)settle_finds_life(record);
	if (lease_take(&record->ws, &lease, err) < 0 ||
	    (!first && start_take_files(start, err) < 0) ||
	    start_admit(start, &manifest, response, err) < 0)
		return -1;
	/* The files are now known to have their recorded digests, and are locked for this
	 * machine. */
	if (options->save) {
		if (template_begin(record->call->backend, config, start->accelerator, &start->files,
				   &start->template, err) < 0)
			return -1;
	} else if (options->template) {
		template_open(options->template, options->own_memory, record->call->backend, config,
			      start->accelerator, &start->files, &start->bundles, &start->template);
	}
	/* No process of this workspace is alive that could use the host's ports. So a port that is
	 * in use belongs to another program. */
	if (publish_require_free(config->port_forwards, err) < 0)
		return -1;
	if (told_is())
		return told_say(err);
	leftover_end_cgroup(&record->ws, limit_deadline(LIMIT_KILL_MS));
	if (manifest_settle(&record->ws, err) < 0 ||
	    workspace_remove_file(&record->ws, "result.json", err) < 0 ||
	    workspace_remove_file(&record->ws, "runtime.json", err) < 0 ||
	    leftover_remove_files(&record->ws, err) < 0 || manifest_secure(&record->ws, err) < 0 ||
	    record_note(record, STATE_STARTING, NULL, err) < 0)
		return -1;
	return launch(start, &lease, err);
}

/* Writes into the answer that the compared root file system now belongs to the guest, with the time
 * at which the live supervisor recorded this. Leaves out an initramfs, since it is copied into
 * memory and its file does not change. */
static int hand_over_rootfs(const struct start *start, struct response *response, struct error *err)
{
	char when[CLOCK_TEXT];

	if (start->files.ram_root)
		return 0;
	rootfs_digest_time(&start->record.ws, when);
	return verification_hand_over_rootfs(response->verification, when, err);
}

/* Requires a result, if the command is run and the config has a workload. If the machine was killed
 * before the command ended, there is no result, and the run has failed. */
static int require_result(const struct start *start, const struct response *response,
			  struct error *err)
{
	const struct request *request = start->record.call->request;

	if (request->command != COMMAND_RUN || !request->config.command || response->result)
		return 0;
	return kind_error(request->identity.runtime_id, ERR_CONFLICT, err,
			  "ended before its command ended: %s",
			  json_text(response->event, "detail", "the reason is not recorded"));
}

static int start_and_wait(struct start *start, const struct call *call, struct response *response,
			  struct error *err)
{
	struct record *record = &start->record;
	struct error ignored;
	int status, run = call->request->command == COMMAND_RUN;

	if (links_read(call->options, &start->links, err) < 0 || examine(start, call, err) < 0 ||
	    record_open(record, call, run, err) < 0 || start_make_ready(start, err) < 0 ||
	    record_lock(record, err) < 0)
		return -1;
	status = start_begin(start, response, err);
	/* If a run has made the workspace and fails before there is a live supervisor, it removes
	 * the workspace again, provided that --remove was given or SIGTERM has come. */
	if (status < 0 && start->made && (call->options->remove || told_is()) && record->ws.fd >= 0)
		(void)workspace_remove(&record->ws, &ignored);
	record_unlock(record);
	if (status < 0) {
		if (start->failed)
			response->event = json_incref(record->event);
		else
			await_look(record);
		return -1;
	}
	boot_files_close(&start->files);
	disks_close(&start->disks);
	if (start->accelerator == ACCELERATOR_TCG)
		fprintf(stderr,
			"warning: the guest is emulated (TCG), which is slow and no security boundary: %s\n",
			start->reason);
	if (call->request->config.confinement != CONFINEMENT_CELL)
		fprintf(stderr,
			"warning: the VMM runs without a cell; only its seccomp filter confines it\n");
	if (answer_declared(&call->request->config, response, err) < 0)
		return -1;
	status = await_live(record, start->report, start->line_end, start->accelerator, response,
			    err);
	if (hand_over_rootfs(start, response, status < 0 ? &ignored : err) < 0 || status < 0)
		return -1;
	return told_is() ? told_say(err) : require_result(start, response, err);
}

int cmd_start(const struct call *call, struct response *response, struct error *err)
{
	struct start start = {.record = RECORD_NONE,
			      .template = TEMPLATE_NONE,
			      .marks = json_object(),
			      .report = -1,
			      .lifeline = -1,
			      .line_end = -1};
	int status = 0;

	if (!start.marks)
		return error_set(err, ERR_IO, "out of memory");
	start.record.call = call;
	json_object_set_new(start.marks, "begun", json_integer((json_int_t)call->begun_ns));
	if (call->request->command == COMMAND_RUN)
		status = told_begin(&start.lifeline, &start.line_end, err);
	if (status == 0)
		status = start_and_wait(&start, call, response, err);
	/* If SIGTERM came before there was a machine, the error says so, whatever step SIGTERM has
	 * interrupted. */
	if (status < 0 && told_is() && start.report < 0)
		told_say(err);
	told_close(&start.line_end);
	cleanup_close(&start.report);
	cleanup_close(&start.lifeline);
	boot_files_close(&start.files);
	disks_close(&start.disks);
	bundles_close(&start.bundles);
	template_close(&start.template);
	record_close(&start.record);
	json_decref(start.found);
	json_decref(start.marks);
	json_decref(start.links);
	return status;
}
