/* SPDX-License-Identifier: MIT */
/*
 * Reports the start and the end of each command to the host, if the config has `audit`. The
 * messages are `exec-started` and `exec-finished`, on the control stream. Of a long command line
 * only the beginning is sent. Above LIMIT_AUDIT_EXECS commands in a second, further commands are
 * only counted. A message `exec-lost` tells the host how many they are, and is sent within about a
 * second.
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
	/* The number of the last command that ran for an earlier host. No command up to this number
	 * is reported. */
	uint64_t since;
	uint64_t window_ns;
	unsigned in_window;
	uint64_t lost; /* how many commands the next `exec-lost` will report */
	struct loop *loop;
	struct loop_watch *lost_timer;
};

/* Makes `report` the observer of the job table (table->witness). Nothing is reported until
 * report->on is set. */
void exec_report_begin(struct exec_report *report, struct job_table *table, struct framed *control);
/* Sends `exec-lost` now, if there are commands that were not reported. */
void exec_report_settle(struct exec_report *report);
/* Forgets the commands that have run until now, so that a new host gets no report about them.
 * Reports nothing until report->on is set again. */
void exec_report_begin_anew(struct exec_report *report);

#endif
