/* SPDX-License-Identifier: MIT */
/*
 * What the host is told of the commands that it has run here, where its config asks for that: a
 * message `exec-started` and one `exec-finished` for each, over the control stream. Bounded: of a
 * long command line the beginning, and above LIMIT_AUDIT_EXECS a second only how many there were
 * more, in a message `exec-lost` within a second or so.
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
	uint64_t since; /* of those up to this number it has told another host, or nobody */
	uint64_t window_ns;
	unsigned in_window;
	uint64_t lost; /* not told, since it was said how many */
	struct loop *loop;
	struct loop_watch *lost_timer;
};

/* Puts the report into table->witness. Nothing is told before on is set. */
void exec_report_begin(struct exec_report *report, struct job_table *table, struct framed *control);
/* Says now how many were not told. */
void exec_report_settle(struct exec_report *report);
/* Says nothing of all that was until now, and nothing more before on is set. */
void exec_report_begin_anew(struct exec_report *report);

#endif
