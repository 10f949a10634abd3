/* SPDX-License-Identifier: MIT */
/* The calls of tools that are under way. Each call runs on its own thread. */
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

/* The answer to a call. */
struct mcp_answer {
	struct buf text;    /* the text of the answer, for people, and for models that do not read
			     * `structured` */
	json_t *structured; /* the answer in the form that the tool's output schema describes */
	json_t *links;	    /* an array of further content; NULL: there is none */
};

struct mcp_call {
	struct list_link link;
	struct mcp_server *server;
	const struct mcp_tool *tool;
	json_t *message; /* the client's request, which owns the values of the next three members */
	const json_t *id;
	const json_t *arguments; /* the arguments, which match the tool's schema; NULL: there are
				  * none */
	const json_t *progress;	 /* the progress token; NULL: the client wants no progress */
	struct microagent_cancel *cancel;
	struct mcp_room room;
	/* true: the client has cancelled the call, or the server ends; so no answer is sent */
	bool dropped;
	uint64_t steps, told_ns;
};

struct mcp_calls {
	pthread_mutex_t lock;
	int ended; /* a descriptor that is readable when a call has ended (waitable.h) */
	/* The calls whose answers the client waits for: calls that run on a thread, and calls that
	 * wait for a thread. */
	struct list running, waiting;
	/* The number of calls under way, and the number of threads. A call that is sending its
	 * answer does not count as under way. A cancelled call does not count either, though its
	 * thread may still have to end the command in the guest. */
	unsigned under_way, threads;
};

int mcp_calls_init(struct mcp_calls *calls, struct error *err);
void mcp_calls_free(struct mcp_calls *calls);

/* Begins the call on a new thread. If the limit of threads is reached, the call waits until another
 * thread has ended. On success the thread owns the call and its message. Fails with ERR_UNAVAILABLE
 * if MCP_CALLS calls are under way, and with ERR_INVALID if a call with the same id is under
 * way. */
int call_begin(struct mcp_calls *calls, struct mcp_call *call, struct error *err);
void mcp_call_free(struct mcp_call *call);
/* Cancels the call with the id `id`. Does nothing if no call has this id. A new call may begin at
 * once in place of the cancelled call. */
void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id);
/* Ends all calls, and waits for their ends until the deadline. Returns true if no call is left. */
bool mcp_calls_end(struct mcp_calls *calls, uint64_t deadline_ns);

/* Tells the client how far the call has come, if the client asked for progress. Sends nothing
 * within MCP_PROGRESS_MS after the last such message, unless `due` is true. */
void call_tell(struct mcp_call *call, bool due, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void mcp_answer_free(struct mcp_answer *answer);

#endif
