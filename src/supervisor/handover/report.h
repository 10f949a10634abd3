/* SPDX-License-Identifier: MIT */
/*
 * The report of the live supervisor to the command that waits for it. The report is a sequence of
 * JSON objects, one in each line, through a pipe. When the pipe ends, the live supervisor has
 * ended.
 *
 *   {"event": {...}}                                        an event was recorded
 *   {"final": true, "event"?, "result"?, "error"?, ...}     the last line (json_put_error())
 */
#ifndef SUPERVISOR_REPORT_H
#define SUPERVISOR_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Writes one line to `fd`, which is non-blocking. Waits at most a few seconds for a slow reader.
 * Reports no failure, since the reader may have exited and the machine must go on without it. */
void report_send(int fd, const json_t *line);
/* Returns the line for a recorded event. The caller releases the line. */
json_t *report_event(const json_t *event);
/* Returns the last line of the report. If error->code is ERR_NONE, the line has no error. `event`
 * and `result` may be NULL. The caller releases the line. */
json_t *report_final(const json_t *event, const json_t *result, const struct error *error);

#define REPORT_LIFELINES 2
struct report_reader {
	int fd;
	/* The descriptors of pipes or sockets whose end report_next() reports with REPORT_CUT; -1:
	 * there is none. When one of them has ended, report_next() sets all of them to -1. */
	int lifelines[REPORT_LIFELINES];
	struct buf in;
};
enum report_got {
	REPORT_NONE = -1, /* an error: the deadline has passed (ERR_TIMEOUT), or a line is not
			   * valid */
	REPORT_ENDED,	  /* the report has ended, since the live supervisor has exited */
	REPORT_LINE,	  /* the report has a line; *line is this line, which the caller releases */
	REPORT_CUT	  /* a lifeline has ended; the report has not ended */
};
/* Waits for the next line of the report. `deadline_ns` is monotonic; UINT64_MAX: there is no
 * deadline. */
enum report_got report_next(struct report_reader *reader, uint64_t deadline_ns, json_t **line,
			    struct error *err);
/* Reads the error of the last line. out->code is ERR_NONE if the line has no error. */
void report_error(const json_t *line, struct error *out);

#endif
