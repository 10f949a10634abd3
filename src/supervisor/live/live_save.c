/* SPDX-License-Identifier: MIT */
/*
 * Saves a machine into its workspace. There are two kinds of a save. A machine that becomes a
 * template is stopped for good, and its memory is written to a separate file. A machine that was
 * restored is saved while it runs, and goes on. The saved state then includes the memory, and
 * another file in the workspace has a copy of the disk at the same moment. The guest gets a message
 * before both kinds. A guest that is later restored from the save asks for a new identity; a guest
 * that goes on does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "contract/kind.h"
#include "store/layer.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/templates/template.h"
#include "supervisor/templates/template_memory.h"

static void answer_save(struct live *live, const json_t *answer)
{
	struct control_client *client = steal_ptr(&live->save_client);

	/* If control.sock is closed, the client was already disconnected. */
	if (client && live->requests)
		control_sock_answer(client, answer);
}

/* Removes the files of an unfinished save, which are useless and may have filled the disk. QEMU
 * keeps the file of the state open a moment longer, and the disk space of a removed file becomes
 * free only when it is closed. So each file is first truncated to 0 bytes. */
static void drop_saved(const struct live *live)
{
	static const char *const files[] = {TEMPLATE_FORK_STATE, TEMPLATE_FORK_DISK,
					    TEMPLATE_SAVED_STATE, TEMPLATE_SAVED_RAM};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		autoclose int fd =
			openat(live->ws.fd, files[i], O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);

		(void)fd;
		unlinkat(live->ws.fd, files[i], 0);
	}
}

/* A number of bytes that is smaller than every saved state. */
#define LEAST_STATE_BYTES ((off_t)1 << 20)

static bool is_disk_full(const struct live *live)
{
	autoclose int fd = file_open_nameless(live->ws.fd, O_RDWR);
	int code = fd < 0 ? errno : file_allocate(fd, LEAST_STATE_BYTES);

	return code == ENOSPC || code == EDQUOT;
}

static void drop_copy(struct live *live)
{
	loop_remove(steal_ptr(&live->copy.timer));
	if (live->copy.fd >= 0)
		close(steal_fd(&live->copy.fd));
}

static void refuse_save(struct live *live, const struct error *error)
{
	const char *reason = strerror(ENOSPC);
	json_auto_t *answer = NULL;
	struct error why = *error;

	/* If a write found no room, QEMU 7.2 reports this, but QEMU 10 only reports "Input/output
	 * error". So the reason is determined here and added to the message. */
	if (why.code == ERR_IO && !strstr(why.msg, reason) && is_disk_full(live))
		error_set(&why, ERR_IO, "%.400s: %s", error->msg, reason);
	answer = control_sock_refusal(&why);
	log_line(&live->log, "save: %s", why.msg);
	drop_saved(live);
	live->saving = live->forking = false;
	loop_remove(steal_ptr(&live->save_timer));
	control_stream_go_on(live->control);
	answer_save(live, answer);
}

void live_save_cut(struct live *live, const char *how)
{
	struct error why;

	/* If the machine has ended, drops the copy of its disk now. Otherwise on_copy_timer() drops
	 * the copy and lets the machine go on. */
	if (live->over)
		drop_copy(live);
	if (!live->save_client)
		return;
	kind_error(live->ws.id, ERR_CONFLICT, &why, "%s before it was saved", how);
	refuse_save(live, &why);
}

/* --- files ----------------------------------------------------------------------------------- */

/* Makes a new file in the workspace. First removes a file with the same name that an earlier save
 * has left. Returns the descriptor, or -1 with an error. */
static int make_saved_file(const struct live *live, const char *name, struct error *err)
{
	int fd;

	if (unlinkat(live->ws.fd, name, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s", name);
	fd = openat(live->ws.fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? error_errno(err, errno, "%s", name) : fd;
}

static int64_t file_bytes(const struct live *live, const char *name)
{
	struct stat st;

	return fstatat(live->ws.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_size;
}

static json_t *keep_memory(struct live *live, struct error *err)
{
	autoclose int file = make_saved_file(live, TEMPLATE_SAVED_RAM, err);
	uint64_t resident = 0;

	if (file < 0 || template_memory_store(LIVE_RAM, file, &resident, err) < 0)
		return NULL;
	return json_pack("{s:O, s:I, s:I, s:I}", "facts", live->ticket.facts, "ramBytes",
			 (json_int_t)file_bytes(live, TEMPLATE_SAVED_RAM), "residentBytes",
			 (json_int_t)resident, "stateBytes",
			 (json_int_t)file_bytes(live, TEMPLATE_SAVED_STATE));
}

/* Truncates the copy of the disk to the length at which the layer's data ends. QEMU has made the
 * layer's file as long as the layer may grow, so the file ends with a hole. Hashing the whole copy
 * would read this hole. */
static int cut_copy(const struct live *live, struct error *err)
{
	uint64_t end = 0;

	if (layer_end(live->copy.fd, &end, err) < 0)
		return -1;
	return ftruncate(live->copy.fd, (off_t)end) < 0
		       ? error_errno(err, errno, TEMPLATE_FORK_DISK)
		       : 0;
}

static json_t *keep_disk(struct live *live, struct error *err)
{
	json_auto_t *facts = NULL;
	json_t *network, *mode, *mac;

	if (cut_copy(live, err) < 0)
		return NULL;
	/* Adds the network card of this machine to the facts, or that it has none, and its disks. A
	 * machine that is restored from this save gets the same card and the same disks. */
	facts = json_deep_copy(live->ticket.facts);
	network = json_object_get(live->runtime, "network");
	mode = json_object_get(network, "mode");
	mac = json_object_get(network, "mac");
	if (!facts || (mode && json_put(facts, "network", json_incref(mode), err) < 0) ||
	    (mac && json_put(facts, "mac", json_incref(mac), err) < 0) ||
	    (json_array_size(live->ticket.disks) > 0 &&
	     json_put(facts, "disks", json_deep_copy(live->ticket.disks), err) < 0))
		return NULL;
	return json_pack("{s:O, s:I, s:I}", "facts", facts, "stateBytes",
			 (json_int_t)file_bytes(live, TEMPLATE_FORK_STATE), "diskBytes",
			 (json_int_t)file_bytes(live, TEMPLATE_FORK_DISK));
}

/* --- the machine ----------------------------------------------------------------------------- */

static void on_saved(void *data, uint64_t stopped_ns, const struct error *why)
{
	struct live *live = data;
	struct error err = {0};
	json_t *saved = why ? NULL : keep_memory(live, &err);
	json_auto_t *answer = saved ? json_pack("{s:b, s:o}", "ok", 1, "save", saved) : NULL;

	(void)stopped_ns;
	if (answer)
		answer_save(live, answer);
	else
		refuse_save(live, why ? why : &err);
}

/* Ends a fork, and lets the machine go on, whether the save succeeded or failed. If the machine is
 * paused, it goes on at the end of its pause. `why` is the reason why the fork has failed; NULL:
 * the disk was copied. */
static void end_fork(struct live *live, const struct error *why)
{
	uint64_t stopped_ns = live->copy.stopped_ns;
	struct error err = {0}, resume = {0};
	json_auto_t *saved = why ? NULL : keep_disk(live, &err);
	json_auto_t *answer = NULL;
	double pause_ms;

	drop_copy(live);
	if (live_resume_saved(live, stopped_ns, &resume) < 0)
		live_fail(live, resume.code, resume.msg);
	pause_ms = (double)(clock_mono_ns() - live->rested_ns) / (double)NS_PER_MS;
	if (saved && json_put(saved, "pauseMs", json_real(pause_ms), &err) == 0)
		answer = json_pack("{s:b, s:O}", "ok", 1, "fork", saved);
	if (!answer) {
		refuse_save(live, why ? why : &err);
		return;
	}
	log_line(&live->log, "saved; it stood still for %.1f ms", pause_ms);
	live->saving = live->forking = false;
	answer_save(live, answer);
}

/* Copies the next part of the disk, by reflink if the file system supports reflinks. Between the
 * parts this process answers requests. Otherwise a quarantine would have to wait for the copy,
 * which a guest can make long by a large disk. */
static void on_copy_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error err = {0};
	int got;

	live->copy.timer = NULL;
	/* The save was cancelled, so the copy is dropped, and the machine goes on. */
	if (!live->save_client) {
		error_set(&err, ERR_CONFLICT,
			  "the save of the machine was interrupted before it was done");
		end_fork(live, &err);
		return;
	}
	got = path_clone_part(LIVE_ROOTFS, live->copy.fd, &live->copy.at, &err);
	if (got == 0)
		live->copy.timer = loop_add_timer(loop, clock_mono_ns(), on_copy_timer, live, &err);
	if (!live->copy.timer)
		end_fork(live, got > 0 ? NULL : &err);
}

static void on_forked(void *data, uint64_t stopped_ns, const struct error *why)
{
	struct live *live = data;
	struct error err = {0};

	live->copy.stopped_ns = stopped_ns;
	live->copy.at = 0;
	if (why)
		error_copy(&err, why);
	else if (!live->save_client)
		error_set(&err, ERR_CONFLICT,
			  "the save of the machine was interrupted before it was done");
	else if (live->pause.why)
		/* A paused machine could go on at the end of its pause, and write to the disk while
		 * it is copied. So the save fails. */
		kind_error(live->ws.id, ERR_UNAVAILABLE, &err,
			   "was paused while it was saved: it cannot be saved until it runs again");
	else
		live->copy.fd = make_saved_file(live, TEMPLATE_FORK_DISK, &err);
	if (live->copy.fd >= 0)
		on_copy_timer(live->loop, live);
	else
		end_fork(live, &err);
}

static void on_quiesce_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error why;

	(void)loop;
	live->save_timer = NULL;
	error_set(
		&why, ERR_TIMEOUT,
		"the machine was not saved, because its guest did not get ready for it in time: try again when the guest has less to do");
	refuse_save(live, &why);
}

void live_quiesced(struct live *live, const char *why)
{
	bool forking = live->forking;
	autoclose int state = -1;
	struct error err;

	/* The guest's answer came too late: the save has already failed. The guest's commands must
	 * go on. */
	if (!live->save_timer) {
		control_stream_go_on(live->control);
		return;
	}
	loop_remove(steal_ptr(&live->save_timer));
	live->rested_ns = clock_mono_ns();
	if (why)
		error_set(
			&err, ERR_IO,
			"the machine was not saved, because its guest could not get ready for it: %.200s",
			why);
	else
		state = make_saved_file(live, forking ? TEMPLATE_FORK_STATE : TEMPLATE_SAVED_STATE,
					&err);
	if (state < 0 ||
	    live->backend->save(live->vm, state, forking ? on_forked : on_saved, live, &err) < 0)
		refuse_save(live, &err);
}

/* --- the requests ---------------------------------------------------------------------------- */

static int require_running(const struct live *live, struct error *err)
{
	if (live->saving)
		return kind_error(live->ws.id, ERR_CONFLICT, err,
				  "is being saved or was already saved");
	if (live->severed)
		return kind_error(live->ws.id, ERR_CONFLICT, err,
				  "is quarantined: a quarantined machine must not be copied");
	if (live->pause.why)
		/* The message does not give the reason of the pause, which is in the last event of
		 * the workspace. */
		return kind_error(live->ws.id, ERR_UNAVAILABLE, err,
				  "is paused: it cannot be saved until it runs again");
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return kind_error(live->ws.id, ERR_CONFLICT, err, "is ending or not yet running");
	return 0;
}

static int ask_to_rest(struct live *live, bool forking, struct control_client *client,
		       struct error *err)
{
	struct loop_watch *timer = loop_add_timer(live->loop, limit_deadline(LIMIT_QUIESCE_MS),
						  on_quiesce_timer, live, err);

	if (!timer || control_stream_quiesce(live->control, forking, err) < 0) {
		loop_remove(timer);
		return -1;
	}
	live->save_timer = timer;
	live->saving = true;
	live->forking = forking;
	live->save_client = client;
	control_sock_defer(client);
	return 0;
}

int live_save(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err)
{
	(void)request;
	if (live->ticket.origin != VM_TEMPLATE)
		return kind_error(live->ws.id, ERR_CONFLICT, err,
				  "was not started as a machine that can be saved");
	return require_running(live, err) < 0 ? -1 : ask_to_rest(live, false, client, err);
}

int live_fork(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err)
{
	(void)request;
	if (require_running(live, err) < 0)
		return -1;
	if (live->ticket.origin != VM_RESTORED)
		return kind_error(
			live->ws.id, ERR_CONFLICT, err,
			"was booted: only a machine that was restored from a template can be saved while it runs");
	if (live->share.given) {
		kind_error(live->ws.id, ERR_CONFLICT, err,
			   "has a shared directory of the host, which cannot be saved");
		return error_reason(err, REASON_SESSION_SHARES, "");
	}
	return ask_to_rest(live, true, client, err);
}

/* Writes an event to the audit log for a command, for example a command that makes a snapshot of
 * the saved machine. The command cannot write to the log itself, since only one process may write
 * to it. */
int live_note(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err)
{
	const char *what = NULL, *name = NULL;
	struct audit_event line;
	json_t *data = NULL;

	(void)client;
	if (json_get_string(request, "", "what", JSON_REQUIRED, &what, err) < 0 ||
	    json_get_string(request, "", "name", JSON_REQUIRED, &name, err) < 0)
		return -1;
	if (!live->audit)
		return kind_error(live->ws.id, ERR_UNSUPPORTED, err, "has no audit log");
	if (audit_told_line(&live->ws, what, name, json_object_get(request, "more"), &line, &data,
			    err) < 0)
		return -1;
	if (line.severity == AUDIT_INFO)
		live_audit_step(live, line.subsystem, line.event, data);
	else
		live_audit(live, line.severity, line.subsystem, line.event, data);
	return 0;
}
