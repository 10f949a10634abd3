/* SPDX-License-Identifier: MIT */
/* boot, restore: from the wish for a session to the end of its first command, by the marks that
 * the supervisor leaves (runtime.json). */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/perf/perf.h"

static const struct {
	const char *mark, *what;
} known_marks[] = {
	{"begun", "base opened, disk cloned, records written; the supervisor is called"},
	{"verified", "the request, and all files of the machine, opened and compared"},
	{"launched", "the template, if there is one; the process that will keep the machine"},
	{"live", "it has begun, with the rights that it keeps"},
	{"vmm", "the cell, the devices, and the VMM in it"},
	{"hello", "the guest, until its agent speaks: kernel and init, or what was saved"},
	{"ready", "the guest is told what it is, and is that"},
};

static const char *what_of(const char *mark)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_marks); i++)
		if (strcmp(known_marks[i].mark, mark) == 0)
			return known_marks[i].what;
	return "";
}

static double ms_between(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / NS_PER_MS : 0;
}

/* The first mark after a moment, up to another; NULL: there is none. */
static const char *next_mark(json_t *timings, uint64_t after, uint64_t until, uint64_t *at)
{
	const char *name, *next = NULL;
	json_t *value;

	json_object_foreach(timings, name, value)
	{
		uint64_t ns = (uint64_t)json_integer_value(value);

		if (ns > after && ns <= until && (!next || ns < *at)) {
			next = name;
			*at = ns;
		}
	}
	return next;
}

/* A row for each mark, of the time since the one before. */
static int add_marks(struct perf_report *report, const struct perf_session *session,
		     struct error *err)
{
	json_t *timings = json_object_get(report->machine, "timings");
	uint64_t before = session->began_ns, at = 0;
	const char *mark;

	while ((mark = next_mark(timings, before, session->made_ns, &at))) {
		if (perf_add(report, mark, what_of(mark), PERF_STAGE, ms_between(before, at), -1,
			     err) < 0)
			return -1;
		before = at;
	}
	return perf_add(report, "answered", "the answer is written, and comes back", PERF_STAGE,
			ms_between(before, session->made_ns), -1, err);
}

static int add_start(struct perf_place *place, struct perf_report *report,
		     const struct perf_session *session, struct error *err)
{
	struct microagent_exec_times exec;

	if (perf_time_exec(place, session, &exec, err) < 0 || add_marks(report, session, err) < 0 ||
	    perf_add(report, "first exec", "/bin/true in it, the first command of all", PERF_STAGE,
		     ms_between(0, exec.ended_ns), -1, err) < 0)
		return -1;
	return perf_add(report, "whole", "from the wish to the end of the first command",
			PERF_WHOLE, ms_between(session->began_ns, session->made_ns + exec.ended_ns),
			-1, err);
}

/* Why a session of a base with a template is none that is restored; "": there is no template. */
static int why_cold(const struct perf_report *report, const struct perf_session *session,
		    char why[256], struct error *err)
{
	json_auto_t *described = microagent_session_describe(session->session, err);
	const json_t *boot = json_object_get(report->machine, "boot");

	if (!described)
		return -1;
	snprintf(why, 256, "%s", json_text(boot, "why", json_text(described, "cold", "")));
	return 0;
}

/* How it came up must be what is measured. */
static int check_start(const struct perf_report *report, const struct perf_session *session,
		       const char *wanted, struct error *err)
{
	const json_t *boot = json_object_get(report->machine, "boot");
	char why[256];

	if (strcmp(json_text(boot, "how", "cold"), wanted) == 0)
		return 0;
	if (why_cold(report, session, why, err) < 0)
		return -1;
	if (*why)
		return error_set(err, ERR_CONFLICT, "a session of %s is not restored: %s",
				 report->base, why);
	error_set(err, ERR_CONFLICT, "base %s has no template to restore its sessions from",
		  report->base);
	return error_reason(err, REASON_NO_TEMPLATE, report->base);
}

static int measure_start(struct perf_place *place, struct perf_report *report, const char *wanted,
			 struct error *err)
{
	struct perf_session session = {0};
	int status = perf_session_make(place, &session, err);
	struct error why = {0};

	if (status == 0) {
		json_decref(report->machine);
		report->machine = microagent_last_start(place->sessions, session.id, err);
		status = report->machine && check_start(report, &session, wanted, err) == 0
				 ? add_start(place, report, &session, err)
				 : -1;
	}
	if (perf_session_end(&session, &why) < 0 && status == 0)
		status = error_copy(err, &why);
	return status;
}

static int measure_starts(struct perf_place *place, struct perf_report *report, const char *wanted,
			  struct error *err)
{
	for (int64_t i = 0; i < report->count; i++) {
		progress_set(place->progress, (uint64_t)i, (uint64_t)report->count);
		if (measure_start(place, report, wanted, err) < 0)
			return -1;
	}
	return 0;
}

int perf_boot(struct perf_place *place, struct perf_report *report, struct error *err)
{
	place->cold = true;
	return measure_starts(place, report, "cold", err);
}

/* A template's machine has no network card, so one that is to have it is booted. */
int perf_restore(struct perf_place *place, struct perf_report *report, struct error *err)
{
	const struct microagent_warm_spec spec = {.cancel = place->signals.fd};

	if (!place->network)
		place->network = "isolated";
	if (place->own_base &&
	    microagent_base_warm(place->agent, place->base, &spec, NULL, err) < 0)
		return -1;
	return measure_starts(place, report, "restored", err);
}
