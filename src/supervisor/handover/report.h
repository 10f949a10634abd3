/* SPDX-License-Identifier: MIT */
/*
 * What the live supervisor tells the command that waits for it: JSON objects, one a line, through a
 * pipe whose end also says that the live supervisor has ended.
 *
 *   {"event": {...}}                                        an event was recorded
 *   {"final": true, "event"?, "result"?, "error"?, ...}     the last line; json_put_error()
 */
#ifndef SUPERVISOR_REPORT_H
#define SUPERVISOR_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Writes one line, waiting at most a few seconds for a reader that is slow; one that is gone is no
 * error. fd is non-blocking. */
void report_send(int fd, const json_t *line);
json_t *report_event(const json_t *event);
/* error->code ERR_NONE: none. event, result may be NULL. */
json_t *report_final(const json_t *event, const json_t *result, const struct error *error);

#define REPORT_LIFELINES 2
struct report_reader {
	int fd;
	/* Pipes or sockets whose end is waited for too; -1: none. All become -1 when one has ended. */
	int lifelines[REPORT_LIFELINES];
	struct buf in;
};
enum report_got {
	REPORT_NONE = -1, /* ERR_TIMEOUT at the deadline, or a broken line */
	REPORT_ENDED,	  /* the live supervisor has */
	REPORT_LINE,	  /* *line is the next one (new reference) */
	REPORT_CUT	  /* a lifeline has ended, and the report goes on */
};
/* deadline_ns: monotonic, UINT64_MAX for none. */
enum report_got report_next(struct report_reader *reader, uint64_t deadline_ns, json_t **line,
			    struct error *err);
/* The error of a final line; ERR_NONE when it has none. */
void report_error(const json_t *line, struct error *out);

#endif
