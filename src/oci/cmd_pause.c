/* SPDX-License-Identifier: MIT */
/* The commands pause, resume, ps, update and events. Programs in the guest do the work of these
 * commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/json.h"
#include "base/print_safe.h"
#include "oci/bundle.h"
#include "oci/describe.h"
#include "oci/flags.h"
#include "oci/guest.h"
#include "oci/record.h"

static int set_frozen(const struct oci *oci, char **words, bool frozen, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	enum oci_status wanted = frozen ? OCI_RUNNING : OCI_PAUSED, status;

	if (flags_parse_command(oci, NULL, 0, words, err) < 0 ||
	    record_open(oci, *words, &record, err) < 0)
		return -1;
	status = record_status(&record);
	if (status != wanted)
		return error_set(err, ERR_CONFLICT, "container not %s: %s, so it cannot be %s",
				 frozen ? "running" : "paused", oci_status_names[status],
				 frozen ? "paused" : "resumed");
	const char *const control[] = {frozen ? "freeze" : "thaw", record_text(&record, "guest"),
				       NULL};
	if (guest_control(&record, control, NULL, err) < 0)
		return -1;
	return record_mark(&record, "paused", frozen, err);
}

int cmd_pause(const struct oci *oci, char **words, struct error *err)
{
	return set_frozen(oci, words, true, err);
}

int cmd_resume(const struct oci *oci, char **words, struct error *err)
{
	return set_frozen(oci, words, false, err);
}

/* --- ps -------------------------------------------------------------------------------------- */

static int print_process_table(const struct record *record, struct error *err)
{
	const char *const control[] = {"ps", record_text(record, "guest"), NULL};
	json_auto_t *listed = NULL;
	const json_t *process;
	size_t i;

	if (guest_control(record, control, &listed, err) < 0)
		return -1;
	printf("%-8s %-8s %-8s %s\n", "UID", "PID", "PPID", "CMD");
	json_array_foreach(json_object_get(listed, "processes"), i, process)
	{
		printf("%-8lld %-8lld %-8lld ",
		       (long long)json_integer_value(json_object_get(process, "uid")),
		       (long long)json_integer_value(json_object_get(process, "pid")),
		       (long long)json_integer_value(json_object_get(process, "ppid")));
		/* Calls print_safe(), since a process may choose any name, also one with control
		 * characters. */
		print_safe(stdout, json_text(process, "command", "?"));
		putchar('\n');
	}
	return 0;
}

int cmd_ps(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	const char *format = "table";
	const struct flag flags[] = {{"format", "f", FLAG_TEXT, &format}};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0 ||
	    record_open(oci, *words, &record, err) < 0)
		return -1;
	if (!record_pid(&record))
		return error_set(err, ERR_CONFLICT, "container not running");
	if (strcmp(format, "json") != 0)
		return print_process_table(&record, err);
	/* Prints the pid of the stand-in, the host's process that stands for the container. The
	 * caller expects pids of the host, where the guest's pids mean nothing. */
	printf("[%d]\n", (int)record_pid(&record));
	return 0;
}

/* --- update ---------------------------------------------------------------------------------- */

struct limits_given {
	const char *file;
	int64_t memory, swap, reservation, quota, period, shares, pids;
};

static int read_limits(const struct limits_given *given, struct oci_resources *out, json_t **keep,
		       struct error *err)
{
	if (given->file) {
		*keep = bundle_document(given->file, err);
		if (!*keep)
			return -1;
	}
	if (!*keep)
		*keep = json_object();
	if (oci_resources_decode(*keep, "", out, err) < 0)
		return -1;
	if (given->memory)
		out->memory_limit = given->memory;
	if (given->swap)
		out->memory_swap = given->swap;
	if (given->reservation)
		out->memory_reservation = given->reservation;
	if (given->quota)
		out->cpu_quota = given->quota;
	if (given->period)
		out->cpu_period = given->period;
	if (given->shares)
		out->cpu_shares = given->shares;
	if (given->pids)
		out->pids_limit = given->pids;
	return 0;
}

/* Refuses limits above the size of the machine, since a machine cannot grow. */
static int check_against_machine(const struct record *record, const struct oci_resources *r,
				 struct error *err)
{
	autorecord struct record holder = RECORD_NONE;
	int64_t period = r->cpu_period > 0 ? r->cpu_period : 100000;
	int64_t memory, cpus;

	if (record_holder(record, &holder, err) < 0)
		return -1;
	const json_t *boot = json_object_get(holder.state, "boot");
	memory = json_integer_value(json_object_get(boot, "memoryMiB"));
	cpus = json_integer_value(json_object_get(boot, "cpus"));
	if (r->memory_limit > 0 && memory && r->memory_limit > memory << 20)
		return error_set(
			err, ERR_UNSUPPORTED,
			"a memory limit of %lld bytes is more than the machine has: its memory of %lld MiB does not grow; create the container again with this limit",
			(long long)r->memory_limit, (long long)memory);
	if (r->cpu_quota > 0 && cpus && (r->cpu_quota - 1) / period >= cpus)
		return error_set(
			err, ERR_UNSUPPORTED,
			"a quota of %lld microseconds in %lld is more than the machine has: it has %lld processors; create the container again with this quota",
			(long long)r->cpu_quota, (long long)period, (long long)cpus);
	return 0;
}

static int apply_limits(const struct record *record, const json_t *limits, struct error *err)
{
	const char *words[20] = {"update", record_text(record, "guest")};
	char room[16][96];
	const char *file;
	json_t *value;
	size_t n = 0;

	json_object_foreach((json_t *)(uintptr_t)limits, file, value)
	{
		if (n == ARRAY_SIZE(room))
			break;
		snprintf(room[n], sizeof(room[n]), "%s=%s", file, json_string_value(value));
		words[2 + n] = room[n];
		n++;
	}
	return n ? guest_control(record, words, NULL, err) : 0;
}

int cmd_update(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	struct limits_given given = {0};
	struct oci_resources resources;
	json_auto_t *keep = NULL;
	const struct flag flags[] = {
		{"resources", "r", FLAG_TEXT, &given.file},
		{"memory", NULL, FLAG_NUMBER, &given.memory},
		{"memory-swap", NULL, FLAG_NUMBER, &given.swap},
		{"memory-reservation", NULL, FLAG_NUMBER, &given.reservation},
		{"cpu-quota", NULL, FLAG_NUMBER, &given.quota},
		{"cpu-period", NULL, FLAG_NUMBER, &given.period},
		{"cpu-share", NULL, FLAG_NUMBER, &given.shares},
		{"pids-limit", NULL, FLAG_NUMBER, &given.pids},
		{"blkio-weight", NULL, FLAG_IGNORED_TEXT, NULL},
		{"cpuset-cpus", NULL, FLAG_IGNORED_TEXT, NULL},
		{"cpuset-mems", NULL, FLAG_IGNORED_TEXT, NULL},
		{"cpu-rt-period", NULL, FLAG_IGNORED_TEXT, NULL},
		{"cpu-rt-runtime", NULL, FLAG_IGNORED_TEXT, NULL},
		{"kernel-memory", NULL, FLAG_IGNORED_TEXT, NULL},
		{"kernel-memory-tcp", NULL, FLAG_IGNORED_TEXT, NULL},
	};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0 ||
	    record_open(oci, *words, &record, err) < 0 ||
	    read_limits(&given, &resources, &keep, err) < 0 ||
	    check_against_machine(&record, &resources, err) < 0)
		return -1;
	json_auto_t *limits = describe_limits(&resources, err);
	return limits ? apply_limits(&record, limits, err) : -1;
}

/* --- events ---------------------------------------------------------------------------------- */

/* Returns the number after `name` in a text with lines "name number"; 0 if no line has the name. */
static json_int_t figure(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ' ')
			return strtoll(line + len, NULL, 10);
	}
	return 0;
}

/* Returns a time of figure() in nanoseconds, converted from microseconds. The product may wrap
 * around, since the guest can write any number. */
static json_int_t figure_ns(const char *text, const char *name)
{
	uint64_t ns = (uint64_t)figure(text, name) * 1000;

	return (json_int_t)ns;
}

/* Returns the number in the text of the member `name`, a file of the cgroup. Returns 0 if the text
 * is "max" or if there is no such member. */
static json_int_t number_of(const json_t *files, const char *name)
{
	return strtoll(json_text(files, name, "0"), NULL, 10);
}

static json_t *stats_of(const json_t *files)
{
	const char *cpu = json_text(files, "cpu.stat", "");
	const char *memory = json_text(files, "memory.stat", "");
	const char *events = json_text(files, "memory.events", "");

	return json_pack(
		"{s:{s:{s:I,s:I,s:I},s:{s:I,s:I,s:I}}, s:{s:I,s:{s:I,s:I,s:I,s:I},s:{s:I,s:I,s:I}}, s:{s:I,s:I}}",
		"cpu", "usage", "total", figure_ns(cpu, "usage_usec"), "kernel",
		figure_ns(cpu, "system_usec"), "user", figure_ns(cpu, "user_usec"), "throttling",
		"periods", figure(cpu, "nr_periods"), "throttledPeriods",
		figure(cpu, "nr_throttled"), "throttledTime", figure_ns(cpu, "throttled_usec"),
		"memory", "cache", figure(memory, "file"), "usage", "usage",
		number_of(files, "memory.current"), "limit", number_of(files, "memory.max"), "max",
		number_of(files, "memory.peak"), "failcnt", figure(events, "max"), "swap", "usage",
		number_of(files, "memory.swap.current"), "limit",
		number_of(files, "memory.swap.max"), "failcnt", (json_int_t)0, "pids", "current",
		number_of(files, "pids.current"), "limit", number_of(files, "pids.max"));
}

int cmd_events(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	json_auto_t *files = NULL;
	bool stats = false;
	const struct flag flags[] = {{"stats", NULL, FLAG_GIVEN, &stats},
				     {"interval", NULL, FLAG_IGNORED_TEXT, NULL}};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0 ||
	    record_open(oci, *words, &record, err) < 0)
		return -1;
	if (!stats)
		return error_set(
			err, ERR_UNSUPPORTED,
			"events cannot follow a container: give --stats, which prints the present figures once");
	const char *const control[] = {"stats", record_text(&record, "guest"), NULL};
	if (guest_control(&record, control, &files, err) < 0)
		return -1;
	json_auto_t *event = json_pack("{s:s, s:s, s:o}", "type", "stats", "id", record.id, "data",
				       stats_of(files));
	autofree char *text = event ? json_line(event, err) : NULL;
	if (!text)
		return -1;
	puts(text);
	return 0;
}
