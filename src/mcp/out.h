/* SPDX-License-Identifier: MIT */
/* Where messages go: whole, one after the other, from any thread. */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

struct mcp_out {
	int fd;
	int in, ended; /* a client that has hung up, or an end by a signal, is not written to for
			  long */
	bool broken;   /* nobody reads it: nothing is written any more */
	pthread_mutex_t lock;
};

/* The message is stolen; NULL, which is one that there was no memory for, is not sent. */
void out_send(struct mcp_out *out, json_t *message);

#endif
