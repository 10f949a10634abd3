/* SPDX-License-Identifier: MIT */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mcp/call.h"
#include "mcp/kept.h"
#include "mcp/mcp.h"
#include "mcp/out.h"
#include "mcp/sessions.h"

/*
 * The protocol has two eras. Up to revision 2025-11-25 a connection begins with `initialize`, by
 * which client and server agree on a revision. From revision 2026-07-28 on there is no
 * `initialize`, and each request names its revision in "_meta". Answers of the two eras differ only
 * in some members, which server_answer() adds.
 */
enum mcp_era { ERA_UNKNOWN, ERA_LEGACY, ERA_MODERN };

struct mcp_server {
	const struct mcp_options *options;
	_Atomic enum mcp_era era;
	/* true: the client knows resource_link, which exists in revisions from 2025-06-18 on */
	_Atomic bool takes_links;
	/* true: the revision is 2025-03-26, which is the only revision with batches. Only the
	 * reading thread uses this member. */
	bool takes_batches;
	struct mcp_out out;
	struct mcp_calls calls;
	struct mcp_sessions sessions;
	struct mcp_kept kept;
	json_t *tools; /* the result of tools_offered(), which is never changed */
	int files;     /* descriptor of the directory of --files; -1: there is none */
};

/* Handles one line of the client, which is given without its newline. */
void server_take(struct mcp_server *server, const char *line, size_t len);
/* Refuses a message that was longer than MCP_LINE_BYTES. */
void server_refuse_long(struct mcp_server *server);
/* Sends the answer to a request. Any thread may call this function. Takes over the reference of
 * `result`. `result` may be NULL, if the caller had no memory for it. */
void server_answer(struct mcp_server *server, const json_t *id, json_t *result);

#endif
