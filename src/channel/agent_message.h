/* SPDX-License-Identifier: MIT */
/*
 * The messages of the guest agent's streaming mode: how a client writes its own into a queue of
 * bytes, and what it makes of the guest's. Which requests there are is the business of calls.h.
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

/* Bytes of stdin in one frame, at most. */
#define AGENT_STDIN_CHUNK ((size_t)65536)

/* The exit code of a command that a time limit ended, as of timeout(1). */
#define AGENT_TIMED_OUT 124

/* What the connection carries to the command. */
enum agent_input {
	AGENT_INPUT_NONE,  /* nothing: its stdin is /dev/null */
	AGENT_INPUT_STDIN, /* frames of stdin */
	AGENT_INPUT_WHOLE  /* it is handed over and becomes the command's stdin and stdout */
};

enum agent_message_kind {
	AGENT_MESSAGE_CREATED, /* of a container: it waits for its start */
	AGENT_MESSAGE_START,
	AGENT_MESSAGE_STDOUT,
	AGENT_MESSAGE_STDERR,
	AGENT_MESSAGE_EXIT,
	AGENT_MESSAGE_ACK,	/* of stdin */
	AGENT_MESSAGE_DETACHED, /* a resumable exec was not to be had, or somebody else has it */
	AGENT_MESSAGE_OTHER	/* an event that we do not know: to be passed over */
};

struct agent_message {
	enum agent_message_kind kind;
	uint64_t request;     /* 0: the message names none */
	const uint8_t *bytes; /* STDOUT, STDERR: inside the queue */
	size_t len;
	struct microagent_outcome exit; /* EXIT */
	char exec[65];			/* START: the id of a resumable one, else "" */
	uint64_t stdin_offset;		/* START, ACK */
	bool tells_stdin;		/* START: it has that; ACK */
	struct error why;		/* DETACHED */
	size_t taken;			/* to be consumed from the queue when done with it */
};

/* The longest frame of a guest in this mode: a queue with room for two always gets on. */
size_t agent_message_limit(void);
/* 1: *out is the first message of the queue; 0: more bytes are needed; -1 (ERR_IO): the guest broke
 * the protocol or reports an error, and the connection is to be closed. */
int agent_message_peek(const struct buf *in, struct agent_message *out, struct error *err);

/* Each appends one frame. request is 1 to INT64_MAX. id: of a resumable exec, else NULL.
 * contained: "container" and "process" of a command in one; NULL: in none. */
int agent_message_exec(struct buf *out, uint64_t request, const struct microagent_exec *exec,
		       enum agent_input input, const char *id, const json_t *contained,
		       struct error *err);
/* That the workload of the run config, which waits for this, is to start. */
int agent_message_workload(struct buf *out, uint64_t request, struct error *err);
/* len is at most AGENT_STDIN_CHUNK. */
int agent_message_stdin(struct buf *out, uint64_t request, const void *bytes, size_t len,
			struct error *err);
/* An event without anything to it: "stdin-close", "cancel". */
int agent_message_event(struct buf *out, uint64_t request, const char *name, struct error *err);
/* {"event":name,"request":N} to be completed and then queued. */
json_t *agent_message_new(uint64_t request, const char *name, struct error *err);
int agent_message_signal(struct buf *out, uint64_t request, int signal, struct error *err);
/* The terminal's size as it is now. */
int agent_message_resize(struct buf *out, uint64_t request,
			 const struct microagent_terminal *terminal, struct error *err);
int agent_message_queue(struct buf *out, const json_t *value, struct error *err);

#endif
