/* SPDX-License-Identifier: MIT */
/*
 * The functions that calls of every kind share. Each kind is a file:
 *
 *   call_capture.c  gathers the output and answers once, in either form
 *   call_file.c     a capture whose command is the agent's own work on a file
 *   call_pty.c      a terminal of the envelope form
 *   call_stream.c   puts the output directly into the connection's queue, as frames, and waits
 *                   when the queue is full
 *   workload.c      a streaming call whose job belongs to the workload and outlives the call
 *   resumable.c     a streaming call whose job belongs to an exec that waits for its client to
 *                   come back
 *
 * A function that starts a call returns -1 for a breach of the protocol, or without memory: the
 * caller then closes the connection. A command that cannot be started is answered as such.
 */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H

#include "guest/agent/answer.h"
#include "guest/agent/conn.h"
#include "guest/agent/exec.h"

/* Makes a call and adds it to the connection. Returns NULL without memory. */
struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err);
/* Opens a window of the call's own, which the client respects. */
void call_open_window(struct call *call);
/* Tells the client that the command could not be started, and frees the call. */
void call_unstarted(struct call *call, const char *why);
/* Tells the client how the command ended, and frees the call. */
void call_exit(struct call *call, const struct job_end *end);
/* Takes the call off its connection and frees it, without a message. */
void call_forget(struct call *call);
void call_free(struct call *call); /* the call must be on no connection */

/* Sends the start message. exec is the id of a resumable command, else NULL. */
void call_say_start(struct call *call, pid_t pid, const char *exec);
/* Tells the client how much stdin the command has taken, if the call has a window and a message is
 * due. */
void call_say_taken(struct call *call);

/* Takes a frame of stdin. The part that the connection counts has been taken already. Returns 1 if
 * all of it is taken; 0 if there is no room; -1 for a breach: the client has sent more than its
 * window holds. */
int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);

/* Functions for the table of a kind that has nothing of its own to do. */
char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err);
int call_event(struct call *call, const struct request *request, struct error *err);
void call_input_ended(struct call *call);
void call_drained(struct call *call);
void call_abandon(struct call *call);
/* Such a function for the table of its job's owner; data is the call. */
void call_job_ended(void *data, const struct job_end *end);

#endif
