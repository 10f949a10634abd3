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
 * A function that starts a call returns -1 for a breach of the protocol, or if there is no memory;
 * the caller then closes the connection. If a command cannot be started, the function returns 0,
 * and the client gets an answer that says so.
 */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H

#include "guest/agent/answer.h"
#include "guest/agent/conn.h"
#include "guest/agent/exec.h"

/* Makes a call and adds it to the connection. Returns NULL without memory. */
struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err);
/* Opens the call's own window for stdin (stdin_window.h). The client must support it. */
void call_open_window(struct call *call);
/* Tells the client that the command could not be started, and frees the call. */
void call_unstarted(struct call *call, const char *why);
/* Tells the client how the command ended, and frees the call. */
void call_exit(struct call *call, const struct job_end *end);
/* Takes the call off its connection and frees it, without a message. */
void call_forget(struct call *call);
void call_free(struct call *call); /* the call must be on no connection */

/* Sends the start message. `exec` is the id of a resumable command, else NULL. */
void call_say_start(struct call *call, pid_t pid, const char *exec);
/* Tells the client how much stdin the command has taken, if the call has a window and a message is
 * due. */
void call_say_taken(struct call *call);

/* Takes a frame of stdin. conn->stdin_taken bytes of the frame were taken by earlier calls. Returns
 * 1 if the whole frame is taken, 0 if there is no room for the rest, or -1 with an error if the
 * client has sent more than its window allows. */
int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);

/* The functions that most kinds use in their struct call_kind. */
char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err);
int call_event(struct call *call, const struct request *request, struct error *err);
void call_input_ended(struct call *call);
void call_drained(struct call *call);
void call_abandon(struct call *call);
/* The function that most kinds use as `ended` of struct job_owner. `data` is the call. */
void call_job_ended(void *data, const struct job_end *end);

#endif
