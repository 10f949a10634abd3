/* SPDX-License-Identifier: MIT */
/*
 * Tells the host of the commands that it has run here, if its config asks for that: a message
 * `exec-started` and a message `exec-finished` for each command, over the control stream. The
 * messages are limited. Of a long command line only the beginning is told. Above LIMIT_AUDIT_EXECS
 * commands a second, only the number of further commands is told, in a message `exec-lost` within
 * about a second.
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
	uint64_t since; /* commands up to this number belonged to another host, or to none */
	uint64_t window_ns;
	unsigned in_window;
	uint64_t lost; /* commands not told of since the last such number was sent */
	struct loop *loop;
	struct loop_watch *lost_timer;
};

/* Sets the report up as table->witness. Nothing is told until on is set. */
void exec_report_begin(struct exec_report *report, struct job_table *table, struct framed *control);
/* Tells now how many commands were not told of. */
void exec_report_settle(struct exec_report *report);
/* Tells nothing of the commands until now, and nothing more until on is set. */
void exec_report_begin_anew(struct exec_report *report);

#endif
