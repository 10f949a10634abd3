/* SPDX-License-Identifier: MIT */
/* exec, claim: what one command costs in a session that is there, and in one from the pool. */
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/perf/perf.h"

/* Before the first that counts: what the guest runs for the first time is slow once. */
#define EXEC_WARM 3

static int add_exec(struct perf_report *report, const struct microagent_exec_times *times,
		    struct error *err)
{
	const struct {
		const char *name, *what;
		uint64_t from, to;
	} stages[] = {
		{"connect", "until the guest's agent has the connection and the request", 0,
		 times->reached_ns},
		{"start", "until the guest runs the program", times->reached_ns, times->started_ns},
		{"exit", "until its end is told", times->started_ns, times->ended_ns},
	};

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (perf_add(report, stages[i].name, stages[i].what, PERF_STAGE,
			     (double)(stages[i].to - stages[i].from) / NS_PER_MS, -1, err) < 0)
			return -1;
	return 0;
}

/* --- exec ------------------------------------------------------------------------------------ */

static int measure_execs(struct perf_place *place, struct perf_report *report,
			 const struct perf_session *session, struct error *err)
{
	struct microagent_exec_times times;

	for (int64_t i = -EXEC_WARM; i < report->count; i++) {
		if (perf_time_exec(place, session, &times, err) < 0)
			return -1;
		if (i < 0)
			continue;
		progress_set(place->progress, (uint64_t)i, (uint64_t)report->count);
		if (add_exec(report, &times, err) < 0 ||
		    perf_add(report, "whole", "one /bin/true, over a connection of its own",
			     PERF_WHOLE, (double)times.ended_ns / NS_PER_MS, -1, err) < 0)
			return -1;
	}
	report->machine = microagent_last_start(place->sessions, session->id, err);
	return report->machine ? 0 : -1;
}

int perf_exec(struct perf_place *place, struct perf_report *report, struct error *err)
{
	struct perf_session session = {0};
	struct error why = {0};
	int status = perf_session_make(place, &session, err);

	if (status == 0)
		status = measure_execs(place, report, &session, err);
	if (perf_session_end(&session, &why) < 0 && status == 0)
		status = error_copy(err, &why);
	return status;
}

/* --- claim ----------------------------------------------------------------------------------- */

/* 1: a session waits. -1 also where none ever will. */
static int pool_is_full(struct perf_place *place, struct error *err)
{
	json_auto_t *answer = microagent_pool_status(place->agent, err);
	const json_t *pool = json_array_get(json_object_get(answer, "pools"), 0);

	if (!answer)
		return -1;
	if (json_is_true(json_object_get(pool, "filling")))
		return 0;
	if (json_integer_value(json_object_get(pool, "ready")) > 0)
		return 1;
	return error_set(err, ERR_UNAVAILABLE, "the pool is not filled: %s",
			 json_text(pool, "detail", "nobody fills it"));
}

/* The filler tells nobody when it is done, and its last step is its own end: until then it would
 * compute beside what is measured. */
static int wait_for_pool(struct perf_place *place, struct error *err)
{
	struct error ignored;
	int full;

	while ((full = pool_is_full(place, err)) == 0) {
		progress_tick(place->progress);
		(void)fd_wait(place->signals.fd, POLLIN, limit_deadline(LIMIT_ACCEPT_AGAIN_MS),
			      &ignored);
		if (perf_go_on(place, err) < 0)
			return -1;
	}
	return full < 0 ? -1 : 0;
}

static int check_claimed(const struct perf_session *session, struct error *err)
{
	json_auto_t *described = microagent_session_describe(session->session, err);

	if (!described)
		return -1;
	if (strcmp(json_text(described, "source", ""), "pool") != 0)
		return error_set(err, ERR_INTERNAL, "a session was made, not claimed");
	return 0;
}

static int add_claim(struct perf_place *place, struct perf_report *report,
		     const struct perf_session *session, struct error *err)
{
	uint64_t claim_ns = session->made_ns - session->began_ns;
	struct microagent_exec_times times;

	if (perf_time_exec(place, session, &times, err) < 0 || check_claimed(session, err) < 0 ||
	    perf_add(report, "claim", "one that answers is taken from the pool", PERF_STAGE,
		     (double)claim_ns / NS_PER_MS, -1, err) < 0 ||
	    add_exec(report, &times, err) < 0 ||
	    perf_add(report, "whole", "from the wish to the end of the first command", PERF_WHOLE,
		     (double)(claim_ns + times.ended_ns) / NS_PER_MS, -1, err) < 0)
		return -1;
	json_decref(report->machine);
	report->machine = microagent_last_start(place->sessions, session->id, err);
	return report->machine ? 0 : -1;
}

static int measure_claim(struct perf_place *place, struct perf_report *report, struct error *err)
{
	struct perf_session session = {0};
	struct error why = {0};
	int status = wait_for_pool(place, err);

	if (status == 0)
		status = perf_session_make(place, &session, err);
	if (status == 0)
		status = add_claim(place, report, &session, err);
	if (perf_session_end(&session, &why) < 0 && status == 0)
		status = error_copy(err, &why);
	return status;
}

int perf_claim(struct perf_place *place, struct perf_report *report, struct error *err)
{
	const struct microagent_pool_spec spec = {
		.base = place->base, .size = 1, .machine.network = place->network};

	if (microagent_pool_set(place->agent, &spec, err) < 0)
		return -1;
	for (int64_t i = 0; i < report->count; i++) {
		progress_set(place->progress, (uint64_t)i, (uint64_t)report->count);
		if (measure_claim(place, report, err) < 0)
			return -1;
	}
	return 0;
}
