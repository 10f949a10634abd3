/* SPDX-License-Identifier: MIT */
/* Where messages go: whole, one after the other, from any thread. */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#define OUT_WORDS 64

struct mcp_out {
	int fd;
	int in, ended; /* a client that has hung up, or an end by a signal, is not written to for
			  long */
	bool broken;   /* nobody reads it: nothing is written any more */
	pthread_mutex_t lock;
	/* Words of out_send_now(), which whoever has the lock next writes. */
	pthread_mutex_t words_lock; /* never held while something is written */
	char *words[OUT_WORDS];
	size_t count;
};
void out_init(struct mcp_out *out, int fd, int in, int ended);
void out_free(struct mcp_out *out);

/* The message is stolen; NULL, which is one that there was no memory for, is not sent. */
void out_send(struct mcp_out *out, json_t *message);
/* The same for a word that may come late or be lost, so that nothing waits for a client that does
 * not read. It comes before what the same thread sends next. */
void out_send_now(struct mcp_out *out, json_t *message);

#endif
