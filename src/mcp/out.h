/* SPDX-License-Identifier: MIT */
/* The output for messages. Any thread may send; each message is written completely before the
 * next. */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#define OUT_WORDS 64

struct mcp_out {
	int fd;
	int in, ended;	      /* when the client has hung up (seen at `in`), or the server is to
			       * end (`ended` is readable), writes wait only for MCP_LAST_WORD_MS */
	bool broken;	      /* nobody reads the output, so nothing is written any more */
	pthread_mutex_t lock; /* held while a message is written */
	/* Messages of out_send_now(). The next thread that has the lock writes them. */
	pthread_mutex_t words_lock; /* never held during a write */
	char *words[OUT_WORDS];
	size_t count;
};
void out_init(struct mcp_out *out, int fd, int in, int ended);
void out_free(struct mcp_out *out);

/* Sends a message, and takes over its reference. Sends nothing if `message` is NULL: the caller had
 * no memory for the message. */
void out_send(struct mcp_out *out, json_t *message);
/* Sends a message without a wait for a client that does not read. So the message may come late, or
 * be lost. Takes over its reference. It is sent before any message that the same thread sends
 * later. */
void out_send_now(struct mcp_out *out, json_t *message);

#endif
