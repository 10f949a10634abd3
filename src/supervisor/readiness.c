/* SPDX-License-Identifier: MIT */
/*
 * Readiness, each signal by an event or by doing: guestReady is the ready of the control stream,
 * as the live supervisor recorded it; shellReady is a round trip to the agent; resultReady is the
 * delivered result.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/agent.h"
#include "channel/dial.h"
#include "supervisor/answer.h"

/* An envelope that asks for nothing: any agent answers it (with a refusal), and no process of the
 * guest is started for it. */
static const char probe_request[] = "{\"op\":\"ping\",\"payload\":{}}\n";

static bool is_live(enum state state)
{
	return state == STATE_STARTING || state == STATE_RUNNING || state == STATE_STOPPING;
}

/* A line, whatever it says: the agent is there and reads. */
static int await_line(int fd, uint64_t deadline, struct error *err)
{
	char bytes[512];

	for (;;) {
		ssize_t n;

		if (fd_wait(fd, POLLIN, deadline, err) < 0)
			return -1;
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return error_set(err, ERR_UNAVAILABLE, "the agent closed the connection");
		if (memchr(bytes, '\n', (size_t)n))
			return 0;
	}
}

static int probe_agent(const struct record *record, uint64_t *elapsed_ns, struct error *err)
{
	uint64_t begun = clock_mono_ns();
	uint64_t deadline = begun + limit_get(LIMIT_SHELL_PROBE_MS) * NS_PER_MS;
	autoclose int fd = dial_guest(record->ws.fd, AGENT_PORT, deadline, err);

	if (fd < 0 || fd_write_all(fd, probe_request, strlen(probe_request), err) < 0 ||
	    await_line(fd, deadline, err) < 0)
		return -1;
	*elapsed_ns = clock_mono_ns() - begun;
	return 0;
}

/* "workspace is S; live readiness unavailable" */
static json_t *not_live(const struct record *record)
{
	char detail[96];

	snprintf(detail, sizeof(detail), "workspace is %s; live readiness unavailable",
		 state_names[record->state]);
	return readiness_signal(false, NULL, detail, NULL);
}

/* An absent or bad runtime.json is no readiness; settle and start have their say about it. */
static json_t *guest_ready(const struct record *record)
{
	struct error err;
	json_auto_t *runtime = NULL;
	const char *at;

	if (!is_live(record->state))
		return not_live(record);
	runtime = workspace_read(&record->ws, "runtime.json", &err);
	at = json_string_value(json_object_get(runtime, "readyAt"));
	if (!at)
		return readiness_signal(false, NULL, "the guest has not reported ready", NULL);
	return readiness_signal(true, at, "the guest reported ready", NULL);
}

static json_t *shell_ready(const struct record *record)
{
	char now[CLOCK_TEXT], detail[96];
	struct error err = {0};
	uint64_t elapsed = 0;

	if (!is_live(record->state))
		return not_live(record);
	if (probe_agent(record, &elapsed, &err) < 0)
		return readiness_signal(false, NULL, NULL, err.msg);
	clock_rfc3339(clock_real_ns(), now);
	snprintf(detail, sizeof(detail), "agent round trip in %llu us",
		 (unsigned long long)(elapsed / 1000));
	return readiness_signal(true, now, detail, NULL);
}

static json_t *result_ready(const struct record *record)
{
	char at[CLOCK_TEXT];
	struct stat st;

	if (record->ws.fd < 0 ||
	    fstatat(record->ws.fd, "result.json", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return readiness_signal(false, NULL, NULL, NULL);
	clock_rfc3339((int64_t)st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec, at);
	return readiness_signal(true, at, "the guest's result is there", NULL);
}

static json_t *mediation_ready(const struct config *config)
{
	if (!config || !config->mediation)
		return readiness_signal(false, NULL, "mediation is not configured", NULL);
	return readiness_signal(false, NULL, NULL, "mediation is not supported yet");
}

json_t *readiness_json(const struct record *record, const struct config *config, struct error *err)
{
	json_auto_t *readiness = json_object();

	if (!readiness || json_put(readiness, "guestReady", guest_ready(record), err) < 0 ||
	    json_put(readiness, "shellReady", shell_ready(record), err) < 0 ||
	    json_put(readiness, "resultReady", result_ready(record), err) < 0 ||
	    json_put(readiness, "mediationReady", mediation_ready(config), err) < 0)
		return NULL;
	return steal_ptr(&readiness);
}
