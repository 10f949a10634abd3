/* SPDX-License-Identifier: MIT */
/* The messages on a connection of the envelope form while a terminal is open. The functions are
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
	/* The message is no event but the next request, which waits until the terminal has
	 * ended. */
	PTY_EVENT_ENVELOPE
};

struct pty_event {
	enum pty_event_kind kind;
	struct buf data; /* the bytes of a STDIN event */
	/* The terminal's size in a RESIZE event, in characters. 0 means that the terminal keeps its
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
/* Returns the last event of the terminal, which says how the command has exited, or why the command
 * never ran. */
char *pty_event_end(const struct job_end *end, struct error *err);
/* Returns the last event for a client that broke the protocol. `why` says what the client did
 * wrong. */
char *pty_event_breach(const char *why, struct error *err);

#endif
