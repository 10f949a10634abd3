/* SPDX-License-Identifier: MIT */
/* The events on a connection while a terminal of the envelope form is open. The functions are
 * pure. */
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
	/* Not an event but the next request, which is handled after the terminal. */
	PTY_EVENT_ENVELOPE
};

struct pty_event {
	enum pty_event_kind kind;
	struct buf data;	/* for STDIN */
	uint16_t rows, columns; /* for RESIZE; 0: unchanged */
};

/* Decodes one JSON value from the client. ERR_INVALID: a breach of the protocol. */
int pty_event_decode(const void *text, size_t len, struct pty_event *out, struct error *err);
void pty_event_free(struct pty_event *event);

/* Returns an output event as JSON text, one line without a newline, which the caller frees. */
char *pty_event_stdout(const void *bytes, size_t len, struct error *err);
/* Returns the last event of the terminal: the exit of its command, or an error with the exit code
 * of a command that never ran. */
char *pty_event_end(const struct job_end *end, struct error *err);
/* Returns the last event for a client that broke the protocol. */
char *pty_event_breach(const char *why, struct error *err);

#endif
