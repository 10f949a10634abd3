/* SPDX-License-Identifier: MIT */
/* Makes the guest handle, and runs commands on it. */
#include "api/guest.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/explain.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/dir_watch.h"

/* --- connecting ------------------------------------------------------------------------------ */

struct microagent_guest *guest_handle_open(struct microagent *agent, const char *name,
					   struct error *err)
{
	struct microagent_guest *guest = calloc(1, sizeof(*guest));

	if (!guest) {
		error_errno(err, ENOMEM, "guest");
		return NULL;
	}
	if (open_workspace_named(agent, name, &guest->existing, err) < 0) {
		free(guest);
		return NULL;
	}
	connections_init(&guest->connections, guest->existing.ws.fd);
	return guest;
}

void microagent_guest_close(struct microagent_guest *guest)
{
	if (!guest)
		return;
	connections_free(&guest->connections);
	open_workspace_close(&guest->existing);
	free(guest);
}

static uint64_t deadline_of(uint32_t timeout_ms)
{
	return clock_mono_ns() + timeout_ms * NS_PER_MS;
}

/* Tries to run a command that needs only a program of microagent in the guest. If this command
 * ends, even with an error, the guest can run commands. */
static int try_once(struct microagent_guest *guest, uint64_t deadline_ns, struct error *err)
{
	static const char *const words[] = {"microagent-files", NULL};
	const struct microagent_exec exec = {.command = words};
	const struct shared_request request = {
		.exec = &exec, .deadline_ns = deadline_ns, .cancel = -1, .hasty = true};
	struct microagent_result result;

	if (explain_must_run(&guest->existing.ws, err) < 0)
		return -1;
	if (connections_run(&guest->connections, &request, &result, err) == 0) {
		microagent_result_free(&result);
		return 0;
	}
	if (err->code == ERR_TIMEOUT)
		error_set(
			err, ERR_TIMEOUT,
			"the guest does not answer: it did not run a command within the time limit");
	return -1;
}

/* Returns true if commands may be possible later: the error `why` can be temporary, and the
 * workspace is not quarantined. */
static bool may_still_run(const struct microagent_guest *guest, const struct error *why)
{
	json_auto_t *event = NULL;
	enum state state;

	if (why->code != ERR_CONFLICT && why->code != ERR_UNAVAILABLE && why->code != ERR_TIMEOUT &&
	    why->code != ERR_NOT_FOUND)
		return false;
	return workspace_state(&guest->existing.ws, &state, &event, NULL) == 0 &&
	       state != STATE_QUARANTINED;
}

static int wait_for_guest(struct microagent_guest *guest, uint32_t timeout_ms, struct error *err)
{
	uint64_t deadline_ns = deadline_of(timeout_ms);
	/* With a timeout of 0 there is only one try, for which the limit is LIMIT_DIAL_MS. */
	uint64_t once_ns = deadline_of((uint32_t)limit_get(LIMIT_DIAL_MS));
	struct error why = {0}, ignored;
	autowatch int watch = -1;

	while (try_once(guest, timeout_ms ? deadline_ns : once_ns, &why) < 0) {
		uint64_t again;

		if (clock_mono_ns() >= deadline_ns || !may_still_run(guest, &why))
			return error_copy(err, &why);
		/* The watch begins only after a failed try. If the first try succeeds, no watch is
		 * needed, and closing a watch can take longer than the try. The second try is made
		 * at once, because the watch does not report changes that came before it began. */
		if (watch < 0) {
			watch = dir_watch_open();
			if (watch < 0 ||
			    dir_watch_add(watch, guest->existing.ws.fd, ".",
					  DIR_WATCH_MADE | DIR_WATCH_MOVED_IN | DIR_WATCH_GONE) < 0)
				return error_errno(err, errno, "watch of the workspace");
			continue;
		}
		/* Waits until a file in the workspace's directory changes, for example the state or
		 * a socket. The wait is short, because no file changes when only the agent becomes
		 * able to answer. */
		again = limit_deadline(LIMIT_ACCEPT_AGAIN_MS);
		fd_wait(watch, POLLIN, again < deadline_ns ? again : deadline_ns, &ignored);
		(void)dir_watch_take(watch, NULL, NULL);
	}
	return 0;
}

struct microagent_guest *microagent_connect(struct microagent *agent, const char *name,
					    uint32_t timeout_ms, struct error *err)
{
	struct microagent_guest *guest = guest_handle_open(agent, name, err);

	if (!guest || wait_for_guest(guest, timeout_ms, err) == 0)
		return guest;
	microagent_guest_close(guest);
	return NULL;
}

/* --- commands -------------------------------------------------------------------------------- */

void microagent_result_free(struct microagent_result *result)
{
	free(result->stdout_bytes);
	free(result->stderr_bytes);
	*result = (struct microagent_result){0};
}

/* Runs a command. If `callbacks` is NULL, stores the output in *out. */
static int guest_run(struct microagent_guest *guest, const struct microagent_exec *exec,
		     const struct microagent_callbacks *callbacks,
		     const struct microagent_run_limits *limits, struct microagent_result *out,
		     struct error *err)
{
	size_t most = (size_t)limit_get(LIMIT_EXEC_OUTPUT_BYTES);
	int64_t in_guest = limits->timeout_ms / 1000 + 1;
	struct microagent_exec limited = *exec;
	struct error why = {0};
	const struct shared_request request = {
		.exec = &limited,
		.in = limits->stdin_bytes,
		.in_len = limits->stdin_len,
		.cap = {limits->stdout_cap ? limits->stdout_cap : most,
			limits->stderr_cap ? limits->stderr_cap : most},
		.callbacks = callbacks,
		.deadline_ns = limits->timeout_ms ? deadline_of(limits->timeout_ms) : UINT64_MAX,
		.cancel = cancel_fd(limits->cancel),
	};

	if (exec->terminal || exec->resume_seconds)
		return error_set(
			err, ERR_INVALID,
			"a command on a terminal, or a command that can be resumed, is run only by microagent_exec(): call that function");
	/* The guest gets a time limit too, which is a little longer than the host's. It is needed
	 * because of a command that does not read its input: then neither a cancel nor the end of
	 * the connection may reach the agent. */
	if (limits->timeout_ms &&
	    (limited.timeout_seconds <= 0 || limited.timeout_seconds > in_guest))
		limited.timeout_seconds = in_guest;
	if (connections_run(&guest->connections, &request, out, err) == 0)
		return 0;
	if (!err || (err->code != ERR_UNAVAILABLE && err->code != ERR_NOT_FOUND))
		return -1;
	/* If the machine does not run, the error names the state of the workspace instead. */
	if (explain_must_run(&guest->existing.ws, &why) < 0 && why.code == ERR_CONFLICT &&
	    err->code == ERR_NOT_FOUND)
		error_copy(err, &why);
	else
		explain_lost(&guest->existing.ws, err);
	return -1;
}

int microagent_guest_run(struct microagent_guest *guest, const struct microagent_exec *exec,
			 const struct microagent_run_limits *limits, struct microagent_result *out,
			 struct error *err)
{
	static const struct microagent_run_limits none = {0};

	return guest_run(guest, exec, NULL, limits ? limits : &none, out, err);
}

int microagent_guest_stream(struct microagent_guest *guest, const struct microagent_exec *exec,
			    const struct microagent_callbacks *callbacks,
			    const struct microagent_run_limits *limits,
			    struct microagent_result *out, struct error *err)
{
	static const struct microagent_run_limits none = {0};

	return guest_run(guest, exec, callbacks, limits ? limits : &none, out, err);
}
