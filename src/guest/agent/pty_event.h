/* SPDX-License-Identifier: MIT */
/* What passes on a connection while a terminal of the envelope form's is open. Pure. */
#ifndef GUEST_PTY_EVENT_H
#define GUEST_PTY_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "guest/job/job.h"

enum pty_event_kind {
	PTY_EVENT_STDIN,
	PTY_EVENT_RESIZE,
	PTY_EVENT_ENVELOPE /* no event: the next request, for when the terminal has ended */
};

struct pty_event {
	enum pty_event_kind kind;
	struct buf data;	/* STDIN */
	uint16_t rows, columns; /* RESIZE; 0: as it is */
};

/* One JSON value from the client. ERR_INVALID: a breach. */
int pty_event_decode(const void *text, size_t len, struct pty_event *out, struct error *err);
void pty_event_free(struct pty_event *event);

/* malloc'd JSON text, one line without a newline, as in answer.h. */
char *pty_event_stdout(const void *bytes, size_t len, struct error *err);
/* The last word: exit, or error with the code of a command that never ran. */
char *pty_event_end(const struct job_end *end, struct error *err);
/* The last word about a client that broke the protocol. */
char *pty_event_breach(const char *why, struct error *err);

#endif
