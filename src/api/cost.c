/* SPDX-License-Identifier: MIT */
/* Measures what a machine costs: the time of each step of a start and of a command, and the memory
 * of each process. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/explain.h"
#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "channel/agent_message.h"
#include "channel/dial.h"

#define RUNTIME "runtime.json"

/* --- a start --------------------------------------------------------------------------------- */

json_t *microagent_last_start(struct microagent *agent, const char *name, struct error *err)
{
	static const char *const keys[] = {"accelerator", "acceleratorReason", "timings", "boot"};
	auto_existing struct open_workspace existing = {0};
	json_auto_t *runtime = NULL, *facts = json_object();

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return NULL;
	runtime = workspace_read(&existing.ws, RUNTIME, err);
	if (!runtime)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(runtime, keys[i]);

		if (value && json_put(facts, keys[i], json_incref(value), err) < 0)
			return NULL;
	}
	return facts ? steal_ptr(&facts) : NULL;
}

/* --- a command ------------------------------------------------------------------------------- */

struct timed_exec {
	int fd;
	struct buf in;
	uint64_t began_ns, deadline_ns;
	struct microagent_exec_times times;
	bool ended;
};

/* Handles the messages from the agent that have arrived completely. */
static int take_exec_messages(struct timed_exec *timed, struct error *err)
{
	struct agent_message message;
	int got;

	while (!timed->ended && (got = agent_message_peek(&timed->in, &message, err)) != 0) {
		if (got < 0)
			return -1;
		if (message.kind == AGENT_MESSAGE_START) {
			timed->times.started_ns = clock_mono_ns() - timed->began_ns;
		} else if (message.kind == AGENT_MESSAGE_EXIT) {
			const struct microagent_outcome *exit = &message.exit;

			if (exit->exit_code != 0)
				return error_set(
					err, ERR_IO,
					"nothing was measured, because the command that was run in the guest ended with exit code %d%s%s",
					exit->exit_code, *exit->start_error ? ": " : "",
					exit->start_error);
			timed->times.ended_ns = clock_mono_ns() - timed->began_ns;
			timed->ended = true;
		}
		buf_consume(&timed->in, message.taken);
	}
	return 0;
}

static int receive_some(struct timed_exec *timed, struct error *err)
{
	enum { PIECE = 4096 };
	uint8_t *room;
	ssize_t n;

	if (fd_wait(timed->fd, POLLIN, timed->deadline_ns, err) < 0)
		return error_prefix(err, "the guest does not answer");
	room = buf_reserve(&timed->in, PIECE, err);
	if (!room)
		return -1;
	n = recv(timed->fd, room, PIECE, MSG_DONTWAIT);
	if (n == 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"nothing was measured, because the guest closed the connection before the command had ended: try again");
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0
							 : error_errno(err, errno, "vsock.sock");
	buf_commit(&timed->in, (size_t)n);
	return 0;
}

static int time_exec_over(struct timed_exec *timed, const struct workspace *ws, struct buf *request,
			  struct error *err)
{
	timed->began_ns = clock_mono_ns();
	timed->deadline_ns = limit_deadline(LIMIT_DIAL_MS);
	timed->fd = dial_blocking(ws->fd, AGENT_PORT, request, timed->deadline_ns, err);
	if (timed->fd < 0)
		return -1;
	timed->times.reached_ns = clock_mono_ns() - timed->began_ns;
	/* dial_blocking() sends the request together with the CONNECT line, but may send only the
	 * beginning of a large request. The remaining bytes are sent here. */
	if (request->len && fd_write_all(timed->fd, buf_bytes(request), request->len, err) < 0)
		return -1;
	while (!timed->ended)
		if (receive_some(timed, err) < 0 || take_exec_messages(timed, err) < 0)
			return -1;
	return 0;
}

int microagent_time_exec(struct microagent *agent, const char *name,
			 const struct microagent_exec *exec, struct microagent_exec_times *out,
			 struct error *err)
{
	struct timed_exec timed = {.fd = -1, .in = BUF_INIT(2 * agent_message_limit())};
	autobuf struct buf request = BUF_INIT(FRAME_MAX + FRAME_HEADER);
	auto_existing struct open_workspace existing = {0};
	int status;

	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    explain_must_run(&existing.ws, err) < 0 ||
	    agent_message_exec(&request, 1, exec, AGENT_INPUT_NONE, NULL, NULL, err) < 0)
		return -1;
	status = time_exec_over(&timed, &existing.ws, &request, err);
	cleanup_close(&timed.fd);
	buf_free(&timed.in);
	if (status == 0)
		*out = timed.times;
	return status;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Adds an entry for the process and its memory. `started` is the recorded start time of the
 * process, or NULL if none is recorded. If the process with this pid has another start time, it is
 * another process, and no entry is added. */
static int add_process(json_t *list, const char *name, json_t *pid, const json_t *started,
		       struct error *err)
{
	pid_t number = (pid_t)json_integer_value(pid);
	struct process_memory memory = {0};
	json_auto_t *entry = NULL;
	struct error why = {0};
	uint64_t began = 0;

	if (number <= 0 || process_start_time(number, &began, &why) < 0 ||
	    (started && (uint64_t)json_integer_value(started) != began))
		return 0;
	entry = json_pack("{s:s, s:I}", "name", name, "pid", (json_int_t)number);
	if (!entry)
		return error_errno(err, ENOMEM, "processes");
	if (process_memory(number, &memory, &why) < 0) {
		if (json_put_string(entry, "error", why.msg, err) < 0)
			return -1;
	} else if (json_put(entry, "residentBytes", json_integer((json_int_t)memory.resident),
			    err) < 0 ||
		   json_put(entry, "proportionalBytes",
			    json_integer((json_int_t)memory.proportional), err) < 0 ||
		   json_put(entry, "privateBytes", json_integer((json_int_t)memory.alone), err) <
			   0) {
		return -1;
	}
	return json_array_append(list, entry) < 0 ? error_errno(err, ENOMEM, "processes") : 0;
}

/* Adds an entry for the guard, which is the parent of the live supervisor. No record has the pid of
 * the guard, so the pid is found as that of the parent. */
static int add_guard(json_t *list, const json_t *runtime, struct error *err)
{
	pid_t keeper = (pid_t)json_integer_value(json_object_get(runtime, "supervisorPid"));
	pid_t parent = keeper > 0 ? process_parent(keeper) : 0;
	json_auto_t *pid = json_integer(parent);
	char name[17] = "";

	if (parent <= 1)
		return 0;
	process_name(parent, name);
	return strcmp(name, LEASE_GUARD) == 0 ? add_process(list, "guard", pid, NULL, err) : 0;
}

json_t *microagent_footprint(struct microagent *agent, const char *name, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *runtime = NULL, *list = json_array(), *answer = json_object();
	const json_t *broker, *companion;
	size_t i;

	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    explain_must_run(&existing.ws, err) < 0)
		return NULL;
	runtime = workspace_read(&existing.ws, RUNTIME, err);
	broker = json_object_get(runtime, "broker");
	if (!runtime ||
	    add_process(list, "vmm", json_object_get(runtime, "pid"),
			json_object_get(runtime, "startTime"), err) < 0 ||
	    add_process(list, "supervisor", json_object_get(runtime, "supervisorPid"),
			json_object_get(runtime, "supervisorStartTime"), err) < 0 ||
	    add_process(list, "broker", json_object_get(broker, "pid"),
			json_object_get(broker, "startTime"), err) < 0 ||
	    add_guard(list, runtime, err) < 0)
		return NULL;
	json_array_foreach(json_object_get(runtime, "companions"), i, companion)
	{
		if (add_process(list, json_text(companion, "name", "?"),
				json_object_get(companion, "pid"),
				json_object_get(companion, "startTime"), err) < 0)
			return NULL;
	}
	return json_put(answer, "processes", steal_ptr(&list), err) < 0 ? NULL : steal_ptr(&answer);
}
