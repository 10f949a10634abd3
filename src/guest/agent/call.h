/* SPDX-License-Identifier: MIT */
/*
 * The functions that calls of every kind use. Each kind of call has a file:
 *
 *   call_capture.c  gathers the output and answers once, in either form
 *   call_file.c     a call like those of call_capture.c, whose command is a role of this program
 *                   that works on a file
 *   call_pty.c      a terminal of the envelope form
 *   call_stream.c   puts the output directly into the connection's queue, as frames, and waits
 *                   when the queue is full
 *   workload.c      a streaming call whose job belongs to the workload and outlives the call
 *   resumable.c     a streaming call whose job belongs to an exec that waits for its client to
 *                   come back
 *
 * A function that starts a call returns -1 if the request breaks the protocol, or if there is no
 * memory. The caller then closes the connection. If a command cannot be started, the function
 * returns 0, and the client gets an answer with the reason.
 */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H

#include "guest/agent/answer.h"
#include "guest/agent/conn.h"
#include "guest/agent/exec.h"

/* Makes a call and adds it to the connection. Returns NULL if there is no memory. */
struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err);
/* Opens a window for stdin that only this call uses (stdin_window.h). The client must support
 * windows. */
void call_open_window(struct call *call);
/* Tells the client that the command could not be started, and frees the call. */
void call_unstarted(struct call *call, const char *why);
/* Tells the client how the command ended, and frees the call. */
void call_exit(struct call *call, const struct job_end *end);
/* Takes the call off its connection and frees it, without a message. */
void call_forget(struct call *call);
void call_free(struct call *call); /* `call` must have been removed from its connection */

/* Sends the start message. `exec` is the id of a resumable command, and NULL for any other
 * command. */
void call_say_start(struct call *call, pid_t pid, const char *exec);
/* Tells the client how much stdin the command has taken. Does nothing if the call has no window, or
 * if no message is due. */
void call_say_taken(struct call *call);

/* Takes a frame of stdin. conn->stdin_taken is the number of bytes of the frame that were taken
 * before. Returns 1 if the whole frame was taken. Returns 0 if there was no room for all of it.
 * Returns -1 with an error if the client has sent more than its window allows. */
int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);

/* Functions for the members `answer` and `event` of struct call_kind. Most kinds use them. */
char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err);
int call_event(struct call *call, const struct request *request, struct error *err);
void call_input_ended(struct call *call);
void call_drained(struct call *call);
void call_abandon(struct call *call);
/* A function for the member `ended` of struct job_owner. Most kinds use it. `data` is the call. */
void call_job_ended(void *data, const struct job_end *end);

#endif
