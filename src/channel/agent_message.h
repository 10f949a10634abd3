/* SPDX-License-Identifier: MIT */
/*
 * The messages of the guest agent's streaming mode: a client writes its own messages into a queue
 * of bytes, and reads the guest's. calls.h knows which requests there are.
 */
#ifndef CHANNEL_AGENT_MESSAGE_H
#define CHANNEL_AGENT_MESSAGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/buf.h"
#include "base/error.h"
#include "microagent/exec.h"

/* The most bytes of stdin in one frame. */
#define AGENT_STDIN_CHUNK ((size_t)65536)

/* The exit code of a command that a time limit ended, as in timeout(1). */
#define AGENT_TIMED_OUT 124

/* What the connection carries to the command. */
enum agent_input {
	AGENT_INPUT_NONE,  /* nothing: its stdin is /dev/null */
	AGENT_INPUT_STDIN, /* frames of stdin */
	AGENT_INPUT_WHOLE  /* the connection is handed over and becomes the command's stdin and
			    * stdout */
};

enum agent_message_kind {
	AGENT_MESSAGE_CREATED, /* a container was created, and waits for its start */
	AGENT_MESSAGE_START,
	AGENT_MESSAGE_STDOUT,
	AGENT_MESSAGE_STDERR,
	AGENT_MESSAGE_EXIT,
	AGENT_MESSAGE_ACK,	/* how far the command has taken its stdin */
	AGENT_MESSAGE_DETACHED, /* a resumable exec was not available, or another connection has
				 * it */
	AGENT_MESSAGE_OTHER	/* an event that this version does not know: it is ignored */
};

struct agent_message {
	enum agent_message_kind kind;
	uint64_t request;     /* 0: the message has no number */
	const uint8_t *bytes; /* STDOUT, STDERR: a place inside the queue */
	size_t len;
	struct microagent_outcome exit; /* EXIT */
	char exec[65];			/* START: the id of a resumable exec, else "" */
	uint64_t stdin_offset;		/* START, ACK */
	bool tells_stdin;		/* ACK always; START: stdin_offset is set */
	struct error why;		/* DETACHED */
	size_t taken;			/* bytes that the caller consumes from the queue after it
					 * has used the message */
};

/* Returns the length of a guest's longest frame in this mode. A queue with room for two never gets
 * stuck. */
size_t agent_message_limit(void);
/* Reads the first message of the queue. Returns 1 if *out is that message; 0 if more bytes are
 * needed; -1 (ERR_IO) if the guest broke the protocol or reports an error: the connection must then
 * be closed. */
int agent_message_peek(const struct buf *in, struct agent_message *out, struct error *err);

/* Appends the request for a command. Like all functions below it appends one frame, and request is
 * 1 to INT64_MAX. id is that of a resumable exec, else NULL. contained: "container" and "process"
 * of a command in a container; NULL if it is in none. */
int agent_message_exec(struct buf *out, uint64_t request, const struct microagent_exec *exec,
		       enum agent_input input, const char *id, const json_t *contained,
		       struct error *err);
/* Appends the request to start the workload of the run config, which waits for it. */
int agent_message_workload(struct buf *out, uint64_t request, struct error *err);
/* Appends bytes of stdin; len is at most AGENT_STDIN_CHUNK. */
int agent_message_stdin(struct buf *out, uint64_t request, const void *bytes, size_t len,
			struct error *err);
/* Appends an event without further members: "stdin-close", "cancel". */
int agent_message_event(struct buf *out, uint64_t request, const char *name, struct error *err);
/* Returns {"event":name,"request":N}, to be completed and then queued. */
json_t *agent_message_new(uint64_t request, const char *name, struct error *err);
int agent_message_signal(struct buf *out, uint64_t request, int signal, struct error *err);
/* Appends the present size of the terminal. */
int agent_message_resize(struct buf *out, uint64_t request,
			 const struct microagent_terminal *terminal, struct error *err);
int agent_message_queue(struct buf *out, const json_t *value, struct error *err);

#endif
