/* SPDX-License-Identifier: MIT */
/* footprint: which memory each process of a machine has, and has alone. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/perf/perf.h"

#define MIB (1024.0 * 1024.0)

static const struct process {
	const char *name, *what;
	bool ours;
} known_processes[] = {
	{"vmm", "the machine: the guest's memory, and what emulates it", false},
	{"supervisor", "keeps the machine", true},
	{"broker", "keeps the rights that the supervisor gave up", true},
	{"guard", "ends what the supervisor leaves behind", true},
	{"microagent-vsockd", "the vsock device", true},
	{"microagent-netgate", "the filter before the network", true},
	{"passt", "the network", false},
	{"virtiofsd", "a shared directory", false},
	{"bwrap", "made the cell, and waits for its end", false},
};

static const struct process *process_called(const char *name)
{
	static const struct process other = {"", "", false};

	for (size_t i = 0; i < ARRAY_SIZE(known_processes); i++)
		if (strcmp(known_processes[i].name, name) == 0)
			return &known_processes[i];
	return &other;
}

struct memory {
	double alone, shared; /* MiB */
};

static struct memory memory_told(const json_t *process)
{
	double alone = (double)json_integer_value(json_object_get(process, "privateBytes"));
	double all = (double)json_integer_value(json_object_get(process, "residentBytes"));

	return (struct memory){alone / MIB, (all - alone) / MIB};
}

static int add_sums(struct perf_report *report, const struct memory *ours, const struct memory *all,
		    struct error *err)
{
	if (perf_add(report, "ours", "supervisor, broker, guard, vsockd, netgate together",
		     PERF_WHOLE, ours->alone, ours->shared, err) < 0)
		return -1;
	return perf_add(report, "whole", "what the end of the machine gives back", PERF_WHOLE,
			all->alone, all->shared, err);
}

static int add_processes(struct perf_report *report, const json_t *answer, struct error *err)
{
	struct memory ours = {0}, all = {0};
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(answer, "processes"), i, entry)
	{
		const struct process *process = process_called(json_text(entry, "name", ""));
		struct memory memory = memory_told(entry);

		if (json_object_get(entry, "error"))
			return error_set(err, ERR_DENIED, "the memory of %s is not shown: %s",
					 json_text(entry, "name", "a process"),
					 json_text(entry, "error", ""));
		if (perf_add(report, json_text(entry, "name", "?"), process->what, PERF_STAGE,
			     memory.alone, memory.shared, err) < 0)
			return -1;
		all = (struct memory){all.alone + memory.alone, all.shared + memory.shared};
		if (process->ours)
			ours = (struct memory){ours.alone + memory.alone,
					       ours.shared + memory.shared};
	}
	return add_sums(report, &ours, &all, err);
}

static int look_at_machine(struct perf_place *place, struct perf_report *report,
			   const struct perf_session *session, struct error *err)
{
	struct microagent_exec_times ignored;
	json_auto_t *answer = NULL;

	if (perf_time_exec(place, session, &ignored, err) < 0)
		return -1;
	answer = microagent_footprint(place->sessions, session->id, err);
	if (!answer || add_processes(report, answer, err) < 0)
		return -1;
	json_decref(report->machine);
	report->machine = microagent_last_start(place->sessions, session->id, err);
	return report->machine ? 0 : -1;
}

static int measure_machine(struct perf_place *place, struct perf_report *report, struct error *err)
{
	struct perf_session session = {0};
	struct error why = {0};
	int status = perf_session_make(place, &session, err);

	if (status == 0)
		status = look_at_machine(place, report, &session, err);
	if (perf_session_end(&session, &why) < 0 && status == 0)
		status = error_copy(err, &why);
	return status;
}

int perf_footprint(struct perf_place *place, struct perf_report *report, struct error *err)
{
	report->memory = true;
	for (int64_t i = 0; i < report->count; i++) {
		progress_set(place->progress, (uint64_t)i, (uint64_t)report->count);
		if (measure_machine(place, report, err) < 0)
			return -1;
	}
	return 0;
}
