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
	/* This value is not an event. It is the next request, which is handled after the terminal
	 * has ended. */
	PTY_EVENT_ENVELOPE
};

struct pty_event {
	enum pty_event_kind kind;
	struct buf data; /* the bytes of a STDIN event */
	/* The size of a RESIZE event, in characters. If a number is 0, the terminal keeps its
	 * present number of rows or columns. */
	uint16_t rows, columns;
};

/* Decodes one JSON value from the client. Fails with ERR_INVALID if the value breaks the
 * protocol. */
int pty_event_decode(const void *text, size_t len, struct pty_event *out, struct error *err);
void pty_event_free(struct pty_event *event);

/* Returns an output event as JSON text, in one line without a newline. The caller frees the
 * text. */
char *pty_event_stdout(const void *bytes, size_t len, struct error *err);
/* Returns the last event of the terminal. It is the exit of the command, or an error with an exit
 * code if the command never ran. */
char *pty_event_end(const struct job_end *end, struct error *err);
/* Returns the last event for a client that broke the protocol. `why` is the reason. */
char *pty_event_breach(const char *why, struct error *err);

#endif
