/* SPDX-License-Identifier: MIT */
#include "guest/agent/exec_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

#define WORDS_MAX 64
#define TEXT_MAX 4096 /* the most bytes of a command line in a message */

static bool tell_host(struct exec_report *report, json_t *message)
{
	autofree char *text = message ? json_line(message, NULL) : NULL;

	return text && framed_is_open(report->control) &&
	       framed_send(report->control, text, NULL) == 0;
}

static void on_untold_due(struct loop *loop, void *data);

static void count_untold(struct exec_report *report)
{
	report->lost++;
	if (!report->lost_timer)
		report->lost_timer = loop_add_timer(report->loop, clock_mono_ns() + NS_PER_S,
						    on_untold_due, report, NULL);
}

static void on_untold_due(struct loop *loop, void *data)
{
	struct exec_report *report = data;
	json_auto_t *message = json_pack("{s:s, s:i, s:I}", "type", "exec-lost", "format", 1,
					 "lost", (json_int_t)report->lost);

	report->lost_timer = NULL;
	if (!framed_is_open(report->control))
		return;
	if (!framed_is_full(report->control) && tell_host(report, message))
		report->lost = 0;
	else
		report->lost_timer = loop_add_timer(loop, clock_mono_ns() + NS_PER_S, on_untold_due,
						    report, NULL);
}

/* Returns true if a command may be reported to the host now. Returns false above LIMIT_AUDIT_EXECS
 * commands in one second, and while the host does not read. Such a command is only counted. */
static bool may_tell(struct exec_report *report)
{
	uint64_t now = clock_mono_ns();

	if (!report->on)
		return false;
	if (now - report->window_ns >= NS_PER_S) {
		report->window_ns = now;
		report->in_window = 0;
	}
	if (framed_is_open(report->control) && !framed_is_full(report->control) &&
	    report->in_window < limit_get(LIMIT_AUDIT_EXECS)) {
		report->in_window++;
		return true;
	}
	count_untold(report);
	return false;
}

/* Returns the words of the command line that the message has. Sets *cut to true if words or bytes
 * are left out. */
static json_t *words_json(const char *const *argv, bool *cut)
{
	json_t *words = json_array();
	size_t room = TEXT_MAX;

	for (size_t i = 0; argv[i]; i++) {
		size_t len = strnlen(argv[i], room + 1);

		if (i == WORDS_MAX || room == 0) {
			*cut = true;
			break;
		}
		*cut = *cut || len > room;
		len = len > room ? room : len;
		room -= len;
		json_array_append_new(words, json_string_lossy(argv[i], len));
	}
	return words;
}

static void put_cut_text(json_t *message, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len > 0)
		json_object_set_new(
			message, key,
			json_string_lossy(text, len < TEXT_MAX / 4 ? len : TEXT_MAX / 4));
}

static bool on_began(void *data, uint64_t number, const struct job_spec *spec)
{
	struct exec_report *report = data;
	json_auto_t *message = NULL;
	bool cut = false;

	if (!may_tell(report))
		return false;
	message = json_pack("{s:s, s:i, s:I, s:o}", "type", "exec-started", "format", 1, "exec",
			    (json_int_t)number, "argv", words_json(spec->argv, &cut));
	put_cut_text(message, "user", spec->user ? spec->user->name : NULL);
	put_cut_text(message, "cwd", spec->cwd ? spec->cwd : spec->user ? spec->user->home : NULL);
	if (cut)
		json_object_set_new(message, "truncated", json_true());
	if (spec->terminal)
		json_object_set_new(message, "terminal", json_true());
	if (tell_host(report, message))
		return true;
	count_untold(report);
	return false;
}

static void on_command_ended(void *data, uint64_t number, const struct job_end *end)
{
	struct exec_report *report = data;
	json_auto_t *message = json_pack("{s:s, s:i, s:I, s:i, s:I}", "type", "exec-finished",
					 "format", 1, "exec", (json_int_t)number, "code",
					 end->exit_code, "elapsedMs", (json_int_t)end->elapsed_ms);

	if (end->signal)
		json_object_set_new(message, "signal", json_integer(end->signal));
	if (end->timed_out)
		json_object_set_new(message, "timedOut", json_true());
	put_cut_text(message, "startError", end->start_error);
	if (number > report->since)
		(void)tell_host(report, message);
}

void exec_report_begin(struct exec_report *report, struct job_table *table, struct framed *control)
{
	*report = (struct exec_report){.table = table, .control = control, .loop = table->loop};
	table->witness = (struct job_witness){on_began, on_command_ended, report};
}

void exec_report_settle(struct exec_report *report)
{
	if (report->lost == 0)
		return;
	loop_remove(steal_ptr(&report->lost_timer));
	on_untold_due(report->loop, report);
}

void exec_report_begin_anew(struct exec_report *report)
{
	loop_remove(steal_ptr(&report->lost_timer));
	report->on = false;
	report->lost = 0;
	report->since = report->table->begun;
}
