/* SPDX-License-Identifier: MIT */
/*
 * The messages of the streaming mode of the guest's agent. A client writes its messages into a
 * queue of bytes, and reads the guest's messages from another queue. calls.h keeps track of the
 * requests that are under way.
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

/* The largest number of bytes of stdin in one frame. */
#define AGENT_STDIN_CHUNK ((size_t)65536)

/* The exit code of a command that a time limit ended, as in timeout(1). */
#define AGENT_TIMED_OUT 124

/* The input that the connection carries to the command. */
enum agent_input {
	AGENT_INPUT_NONE,  /* no input: the command's stdin is /dev/null */
	AGENT_INPUT_STDIN, /* the connection carries frames of stdin */
	AGENT_INPUT_WHOLE  /* the connection is handed over and becomes the command's stdin and
			    * stdout */
};

enum agent_message_kind {
	AGENT_MESSAGE_CREATED, /* a container was created, and waits for its start */
	AGENT_MESSAGE_START,
	AGENT_MESSAGE_STDOUT,
	AGENT_MESSAGE_STDERR,
	AGENT_MESSAGE_EXIT,
	AGENT_MESSAGE_ACK,	/* the message says how much of its stdin the command has taken */
	AGENT_MESSAGE_DETACHED, /* this connection does not carry the resumable exec: the guest does
				 * not have the exec, or another connection carries it */
	AGENT_MESSAGE_OTHER	/* an event that this version does not know, and that must be
				 * ignored */
};

/* A message of the guest. The words in capitals say for which kinds of message a member is set. */
struct agent_message {
	enum agent_message_kind kind;
	uint64_t request;     /* number of the request; 0: the message has no number */
	const uint8_t *bytes; /* STDOUT, STDERR: the output, which is still in the queue */
	size_t len;
	struct microagent_outcome exit; /* EXIT */
	char exec[65];			/* START: the id of a resumable exec; "" for any other
					 * exec */
	uint64_t stdin_offset;		/* START, ACK: bytes of stdin that the command has taken */
	bool tells_stdin;		/* true: `stdin_offset` is set, as it always is for ACK */
	struct error why;		/* DETACHED */
	size_t taken;			/* the number of bytes that the caller must drop from the
					 * queue when it has used the message */
};

/* Returns the length of the longest frame that a guest may send in streaming mode. A queue that has
 * room for two such frames can always take more bytes, because a complete frame is taken out of the
 * queue immediately. */
size_t agent_message_limit(void);
/* Reads the first message of the queue. Returns 1 if *out is that message; 0 if more bytes are
 * needed; -1 (ERR_IO) if the guest broke the protocol or reports an error. After -1 the caller must
 * close the connection. */
int agent_message_peek(const struct buf *in, struct agent_message *out, struct error *err);

/* Appends the request for a command. Like this function, all functions below that have a parameter
 * `out` append one frame to it. `request` is a number from 1 to INT64_MAX. `id` is the id of a
 * resumable exec, or NULL. `contained` has "container" and "process" for a command in a container;
 * else it is NULL. */
int agent_message_exec(struct buf *out, uint64_t request, const struct microagent_exec *exec,
		       enum agent_input input, const char *id, const json_t *contained,
		       struct error *err);
/* Appends the request to start the workload of the run config; the guest waits for this request. */
int agent_message_workload(struct buf *out, uint64_t request, struct error *err);
/* Appends bytes of stdin; `len` is at most AGENT_STDIN_CHUNK. */
int agent_message_stdin(struct buf *out, uint64_t request, const void *bytes, size_t len,
			struct error *err);
/* Appends an event that has only a name: "stdin-close", "cancel". */
int agent_message_event(struct buf *out, uint64_t request, const char *name, struct error *err);
/* Returns {"event":name,"request":N} as a new reference. The caller adds members, and then calls
 * agent_message_queue(). */
json_t *agent_message_new(uint64_t request, const char *name, struct error *err);
int agent_message_signal(struct buf *out, uint64_t request, int signal, struct error *err);
/* Appends the size that the terminal has now. */
int agent_message_resize(struct buf *out, uint64_t request,
			 const struct microagent_terminal *terminal, struct error *err);
int agent_message_queue(struct buf *out, const json_t *value, struct error *err);

#endif
