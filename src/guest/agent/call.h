/* SPDX-License-Identifier: MIT */
/*
 * What calls of every kind do. A kind is a file:
 *
 *   call_capture.c  gathers the output and answers once, in either form
 *   call_file.c     such a one whose command is our own work on a file
 *   call_pty.c      a terminal of the envelope form's
 *   call_stream.c   puts the output straight into the connection's queue, framed where it lies, and
 *                   waits when that is full
 *   workload.c      a streaming one whose job belongs to the workload and outlives it
 *   resumable.c     likewise, to an exec that waits for its client to come back
 *
 * What starts one returns -1 for a breach of the protocol, or without memory: the connection is to
 * be closed. A command that cannot be started is answered as such.
 */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H

#include "guest/agent/answer.h"
#include "guest/agent/conn.h"
#include "guest/agent/exec.h"

/* On the connection from here on. NULL without memory. */
struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err);
/* The client keeps to a window of the call's own. */
void call_open_window(struct call *call);
/* Says that it could not be started, and frees it. */
void call_unstarted(struct call *call, const char *why);
/* Says the end and frees it. */
void call_exit(struct call *call, const struct job_end *end);
/* Takes it off its connection and frees it, and says nothing. */
void call_forget(struct call *call);
void call_free(struct call *call); /* it is on no connection */

/* Says start. exec: the id of a resumable one, else NULL. */
void call_say_start(struct call *call, pid_t pid, const char *exec);
/* Tells the client how far the command has come, where it has a window and it is time to. */
void call_say_taken(struct call *call);

/* Stdin in frames: one, of which what the connection counts has been taken already. 1: all of it is
 * taken; 0: there is no room; -1: a breach, the client has sent more than its window holds. */
int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);

/* For the table of a kind, where it has nothing of its own to do. */
char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err);
int call_event(struct call *call, const struct request *request, struct error *err);
void call_input_ended(struct call *call);
void call_drained(struct call *call);
void call_abandon(struct call *call);
/* The same for the table of its job's owner, of which it is the data. */
void call_job_ended(void *data, const struct job_end *end);

#endif
