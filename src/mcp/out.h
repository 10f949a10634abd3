/* SPDX-License-Identifier: MIT */
/* The output for messages. Any thread may send a message. Each message is written completely before
 * the next one is begun. */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#define OUT_WORDS 64

struct mcp_out {
	int fd;
	/* in: the client's input, which poll() reports as hung up when the client has gone. ended:
	 * a descriptor that is readable when the server must end. In both cases a write waits only
	 * for MCP_LAST_WORD_MS. */
	int in, ended;
	/* true: nobody reads the output any more, so nothing more is written */
	bool broken;
	pthread_mutex_t lock; /* held by the thread that writes a message */
	/* The waiting messages of out_send_now(). The next thread that holds `lock` writes them. */
	pthread_mutex_t words_lock; /* protects the waiting messages; no thread holds it during a
				     * write */
	char *words[OUT_WORDS];
	size_t count;
};
void out_init(struct mcp_out *out, int fd, int in, int ended);
void out_free(struct mcp_out *out);

/* Sends a message, and takes over its reference. If `message` is NULL, sends nothing: the caller
 * had no memory for the message. */
void out_send(struct mcp_out *out, json_t *message);
/* Sends a message, but does not wait for a client that does not read. So the message may come late,
 * or be lost. It is sent before any message that the same thread sends later. Takes over the
 * reference of `message`. */
void out_send_now(struct mcp_out *out, json_t *message);

#endif
