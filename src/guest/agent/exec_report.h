/* SPDX-License-Identifier: MIT */
/*
 * Reports each command to the host, if the config asks for this: by the messages `exec-started` and
 * `exec-finished`, over the control stream. If a command line is long, only its beginning is sent.
 * Above LIMIT_AUDIT_EXECS commands in a second, only the number of further commands is sent, in a
 * message `exec-lost` within about a second.
 */
#ifndef GUEST_EXEC_REPORT_H
#define GUEST_EXEC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/framed.h"
#include "guest/job/job.h"

struct exec_report {
	const struct job_table *table;
	struct framed *control;
	bool on;
	uint64_t since; /* commands up to this number are not reported: an earlier host ran them */
	uint64_t window_ns;
	unsigned in_window;
	uint64_t lost; /* the number of commands for the next `exec-lost` */
	struct loop *loop;
	struct loop_watch *lost_timer;
};

/* Sets the report up as table->witness. Nothing is reported until report->on is set. */
void exec_report_begin(struct exec_report *report, struct job_table *table, struct framed *control);
/* Sends `exec-lost` now, if commands were not reported. */
void exec_report_settle(struct exec_report *report);
/* Forgets the commands up to now, and reports nothing until report->on is set. */
void exec_report_begin_anew(struct exec_report *report);

#endif
