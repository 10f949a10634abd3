/* SPDX-License-Identifier: MIT */
/* The calls of tools that are under way, each on a thread of its own. */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "mcp/mcp.h"
#include "mcp/out.h"
#include "mcp/sessions.h"
#include "microagent.h"

struct mcp_server;
struct mcp_tool;

/* What a call answers with. */
struct mcp_answer {
	struct buf text;    /* for people, and models that are shown nothing else */
	json_t *structured; /* of the tool's output schema */
	json_t *links;	    /* an array of further content, or NULL */
};

struct mcp_call {
	struct list_link link;
	struct mcp_server *server;
	const struct mcp_tool *tool;
	json_t *message; /* all that it was asked by; the next three are in it */
	const json_t *id;
	const json_t *arguments; /* as the tool's schema has them; NULL: none */
	const json_t *progress;	 /* its token; NULL: the client wants to hear nothing */
	struct microagent_cancel *cancel;
	struct mcp_room room;
	bool dropped; /* cancelled by the client, or by the end: there is no answer */
	uint64_t steps, told_ns;
};

struct mcp_calls {
	pthread_mutex_t lock;
	int ended; /* readable when one has ended (waitable.h) */
	/* Those that somebody waits for the answer of: on a thread, or waiting for one. */
	struct list running, waiting;
	/* A call that answers is not under way any more, nor is one that is cancelled, whose thread
	 * may have something to end in the guest yet. */
	unsigned under_way, threads;
};

int mcp_calls_init(struct mcp_calls *calls, struct error *err);
void mcp_calls_free(struct mcp_calls *calls);

/* Begins it, as soon as there is a thread for it; on success call is its thread's, with its
 * message. ERR_UNAVAILABLE: MCP_CALLS are under way; ERR_INVALID: one with its id is. */
int call_begin(struct mcp_calls *calls, struct mcp_call *call, struct error *err);
void mcp_call_free(struct mcp_call *call);
/* The client does not want it any more, and has its place back at once; no call of that id is as
 * good. */
void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id);
/* Ends all, and waits until the deadline. Whether none is left. */
bool mcp_calls_end(struct mcp_calls *calls, uint64_t deadline_ns);

/* Tells the client how far it is, if it wants to hear, and MCP_PROGRESS_MS after the last word or
 * where that is due. */
void call_tell(struct mcp_call *call, bool due, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void mcp_answer_free(struct mcp_answer *answer);

#endif
