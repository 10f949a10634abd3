/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of the live supervisor. While the host's disk has no room, events and the
 * result stay in memory. The disk timer and the end of the machine try again to write them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "contract/response.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/handover/report.h"
#include "supervisor/live/live.h"

/* The number of bytes that are reserved on the disk, which is enough for two full events.json and a
 * result of usual size. */
#define RESERVE_BYTES (1 << 20)
#define PENDING_MAX 64 /* the most events that wait for room on the host's disk */

static void on_disk_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	if (!live_record_pending(live))
		return;
	loop_remove(live->disk_timer);
	live->disk_timer = NULL;
}

static void try_again_later(struct live *live)
{
	struct error err;

	if (live->disk_timer)
		return;
	live->disk_timer = loop_add_interval(live->loop, limit_get(LIMIT_DISK_CHECK_MS) * NS_PER_MS,
					     on_disk_timer, live, &err);
	if (!live->disk_timer)
		log_line(&live->log, "%s", err.msg);
}

static bool record_first_pending(struct live *live)
{
	struct error err;

	if (workspace_record_event(&live->ws, json_array_get(live->pending, 0), &err) < 0)
		return false;
	json_array_remove(live->pending, 0);
	return true;
}

static bool record_result(struct live *live)
{
	struct error err;

	if (!live->result)
		return true;
	if (workspace_write(&live->ws, "result.json", live->result, STORE_SYNC, &err) < 0)
		return false;
	/* With --remove the waiting command can get the result only from this process, so the
	 * result stays in memory. */
	if (!live->ticket.remove) {
		json_decref(live->result);
		live->result = NULL;
	}
	return true;
}

bool live_record_pending(struct live *live)
{
	if (!record_result(live))
		return false;
	while (json_array_size(live->pending) > 0)
		if (!record_first_pending(live))
			return false;
	return true;
}

void live_asked_by(struct live *live, const json_t *request)
{
	json_t *id = json_object_get(request, "requestID");
	json_t *role = json_object_get(request, "role"); /* commands of earlier versions send no
							  * role */

	if (!json_is_string(id))
		return;
	json_decref(live->asked_by);
	live->asked_by = json_pack("{s:O}", "requestID", id);
	if (json_is_string(role))
		json_object_set(live->asked_by, "role", role);
}

void live_asked_by_nobody(struct live *live)
{
	json_decref(steal_ptr(&live->asked_by));
}

void live_record(struct live *live, enum state state, const char *detail)
{
	char now[CLOCK_TEXT];
	json_auto_t *event = NULL;
	json_auto_t *line = NULL;

	clock_rfc3339(clock_real_ns(), now);
	event = event_json(live->ticket.identity, state, detail && *detail ? detail : NULL, now);
	if (!event)
		return;
	if (live->asked_by)
		json_object_update(json_object_get(event, "identity"), live->asked_by);
	if (state == STATE_QUARANTINED && live->severed)
		json_object_set(event, "severed", live->severed);
	live->state = state;
	log_line(&live->log, "%s%s%s", state_names[state], detail && *detail ? ": " : "",
		 detail ? detail : "");
	if (json_array_size(live->pending) >= PENDING_MAX)
		json_array_remove(live->pending, 0);
	json_array_append(live->pending, event);
	if (!live_record_pending(live))
		try_again_later(live);
	line = report_event(event);
	report_send(LIVE_REPORT, line);
	json_decref(live->last_event);
	live->last_event = steal_ptr(&event);
}

void live_remark(struct live *live, const char *text)
{
	if (live->over || live->pause.why || live->outcome.intent != INTENT_NONE)
		log_line(&live->log, "%s", text);
	else
		live_record(live, live->state, text);
}

void live_keep_result(struct live *live, json_t *result)
{
	json_decref(live->result);
	live->result = result;
	if (!record_result(live))
		try_again_later(live);
}

/* --- room for the last records --------------------------------------------------------------- */

/*
 * Frees a part of the space on the host's disk that was reserved at the start. The space is for the
 * last record, which says how the VM ended, for example `halted`. So that record can be written
 * even if the host's disk is full.
 */
void live_reserve_some_back(struct live *live)
{
	autoclose int fd = openat(live->ws.fd, LEFTOVER_RESERVE, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, RESERVE_BYTES / 2) < 0)
		log_line(&live->log, "reserve: %s", strerror(errno));
}

void live_reserve(struct live *live)
{
	autoclose int fd = openat(live->ws.fd, LEFTOVER_RESERVE,
				  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct error ignored;

	if (fd >= 0 && file_allocate(fd, RESERVE_BYTES) != 0)
		(void)workspace_remove_file(&live->ws, LEFTOVER_RESERVE, &ignored);
}

/* --- runtime.json ---------------------------------------------------------------------------- */

void live_runtime_write(struct live *live)
{
	struct error err;

	if (workspace_write(&live->ws, "runtime.json", live->runtime, STORE_NO_SYNC, &err) < 0)
		log_line(&live->log, "%s", err.msg);
}

void live_mark(struct live *live, const char *name)
{
	json_t *timings = json_object_get(live->runtime, "timings");

	json_object_set_new(timings, name, json_integer((json_int_t)clock_mono_ns()));
}

/* Adds the device and inode of the workspace's directory to runtime.json. In a copy of the
 * directory they do not match, so the copied runtime.json is recognised (leftover.h). */
static int put_directory(json_t *runtime, const struct workspace *ws, struct error *err)
{
	struct stat st;

	if (fstat(ws->fd, &st) < 0)
		return error_errno(err, errno, "%s", ws->id);
	return json_put(runtime, "directory",
			json_pack("{s:I, s:I}", "device", (json_int_t)st.st_dev, "inode",
				  (json_int_t)st.st_ino),
			err);
}

static int put_own_process(json_t *runtime, struct error *err)
{
	uint64_t ticks = 0;
	char boot_id[37];

	if (process_boot_id(boot_id, err) < 0 || proc_start_time(getpid(), &ticks, err) < 0)
		return -1;
	if (json_put_string(runtime, "bootId", boot_id, err) < 0 ||
	    json_put(runtime, "supervisorPid", json_integer(getpid()), err) < 0)
		return -1;
	return json_put(runtime, "supervisorStartTime", json_integer((json_int_t)ticks), err);
}

static int put_machine(json_t *runtime, const struct ticket *ticket, struct error *err)
{
	bool emulated = ticket->accelerator == ACCELERATOR_TCG;
	json_auto_t *ports = json_pack("{s:i, s:i}", "agent", AGENT_PORT, "control", CONTROL_PORT);

	if (json_put_string(runtime, "accelerator", accelerator_names[ticket->accelerator], err) <
		    0 ||
	    json_put(runtime, "acceleratorReason",
		     json_string_lossy(ticket->accelerator_reason,
				       strlen(ticket->accelerator_reason)),
		     err) < 0 ||
	    json_put_string(runtime, "isolation", emulated ? "emulated" : "hardware", err) < 0)
		return -1;
	return json_put(runtime, "ports", json_incref(ports), err);
}

int live_runtime_begin(struct live *live, struct error *err)
{
	char now[CLOCK_TEXT];
	json_t *runtime = json_object();

	live->runtime = runtime;
	clock_rfc3339(clock_real_ns(), now);
	if (json_put(runtime, "format", json_integer(1), err) < 0 ||
	    put_directory(runtime, &live->ws, err) < 0 || put_own_process(runtime, err) < 0 ||
	    put_machine(runtime, &live->ticket, err) < 0 ||
	    json_put(runtime, "requestID",
		     json_deep_copy(json_object_get(live->ticket.identity, "requestID")),
		     err) < 0 ||
	    json_put_string(runtime, "startedAt", now, err) < 0 ||
	    (live->ticket.boot &&
	     json_put(runtime, "boot", json_deep_copy(live->ticket.boot), err) < 0) ||
	    json_put(runtime, "companions", json_array(), err) < 0 ||
	    json_put(runtime, "timings", json_deep_copy(live->ticket.marks), err) < 0)
		return -1;
	live_mark(live, "live");
	return workspace_write(&live->ws, "runtime.json", runtime, STORE_NO_SYNC, err);
}

/* Adds the start time of a process. The pid alone does not identify the process later, since the
 * kernel gives the pids of exited processes to new ones. */
static void add_start_time(json_t *process)
{
	json_int_t pid = json_integer_value(json_object_get(process, "pid"));
	uint64_t ticks = 0;
	struct error err;

	if (pid > 0 && !json_object_get(process, "startTime") &&
	    proc_start_time((pid_t)pid, &ticks, &err) == 0)
		json_object_set_new(process, "startTime", json_integer((json_int_t)ticks));
}

void live_runtime_describe(struct live *live)
{
	json_auto_t *facts = live->backend->describe(live->vm);
	const json_t *companions;

	json_object_update(live->runtime, facts);
	add_start_time(live->runtime);
	companions = json_object_get(live->runtime, "companions");
	for (size_t i = 0; i < json_array_size(companions); i++)
		add_start_time(json_array_get(companions, i));
	live_runtime_write(live);
}
