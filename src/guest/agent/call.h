/* SPDX-License-Identifier: MIT */
/*
 * The functions that all kinds of calls use. A call is one request on a connection (conn.h). Each
 * kind of call has a file:
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

/* Creates a call and adds the call to the connection. Returns NULL if there is no memory. */
struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err);
/* Opens a flow-control window for this call's stdin (stdin_window.h). The client must support such
 * windows. */
void call_open_window(struct call *call);
/* Tells the client that the command could not be started, and frees the call. */
void call_unstarted(struct call *call, const char *why);
/* Tells the client how the command ended, and frees the call. */
void call_exit(struct call *call, const struct job_end *end);
/* Removes the call from its connection and frees the call, without a message to the client. */
void call_forget(struct call *call);
void call_free(struct call *call); /* the caller must have removed the call from its connection */

/* Sends the client the message that the command has started. `exec` is the id of a resumable
 * command, or NULL if the command is not resumable. */
void call_say_start(struct call *call, pid_t pid, const char *exec);
/* Tells the client how many bytes of stdin the command has read. Does nothing if the call has no
 * window for stdin, or if no such message is due. */
void call_say_taken(struct call *call);

/* Handles the bytes of one frame of stdin. conn->stdin_taken says how many bytes of this frame were
 * handled before. Returns 1 if the whole frame was handled. Returns 0 if there was no room for all
 * of its bytes. Returns -1 with an error if the client has sent more than its window allows. */
int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err);
void call_close_stdin(struct call *call);

/* Functions for the members `answer` and `event` of struct call_kind. Most kinds of calls use these
 * functions. */
char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err);
int call_event(struct call *call, const struct request *request, struct error *err);
void call_input_ended(struct call *call);
void call_drained(struct call *call);
void call_abandon(struct call *call);
/* A function for the member `ended` of struct job_owner. Most kinds of calls use this function.
 * `data` is the call. */
void call_job_ended(void *data, const struct job_end *end);

#endif
