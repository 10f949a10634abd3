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
	int in, ended; /* after a hang-up or an end by a signal, writes wait only briefly */
	bool broken;   /* nobody reads the output: nothing is written any more */
	pthread_mutex_t lock;
	/* Messages of out_send_now(). The next thread that has the lock writes them. */
	pthread_mutex_t words_lock; /* never held during a write */
	char *words[OUT_WORDS];
	size_t count;
};
void out_init(struct mcp_out *out, int fd, int in, int ended);
void out_free(struct mcp_out *out);

/* Sends a message, and takes over its reference. Sends nothing if message is NULL, which means that
 * there was no memory for it. */
void out_send(struct mcp_out *out, json_t *message);
/* Sends a message that may come late or be lost, so that no thread waits for a client that does not
 * read. Takes over its reference. The message is sent before any message that the same thread sends
 * later. */
void out_send_now(struct mcp_out *out, json_t *message);

#endif
