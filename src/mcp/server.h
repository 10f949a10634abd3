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
 * The protocol has two eras. Until 2025-11-25 a connection begins with `initialize`, which agrees
 * on a revision; from 2026-07-28 on there is none, and each request names its revision in "_meta".
 * What is asked and answered is the same but for some members, which server_answer() adds.
 */
enum mcp_era { ERA_UNKNOWN, ERA_LEGACY, ERA_MODERN };

struct mcp_server {
	const struct mcp_options *options;
	_Atomic enum mcp_era era;
	_Atomic bool takes_links; /* resource_link is of 2025-06-18 */
	bool takes_batches;	  /* of 2025-03-26 alone, by who reads the messages */
	struct mcp_out out;
	struct mcp_calls calls;
	struct mcp_sessions sessions;
	struct mcp_kept kept;
	json_t *tools; /* tools_offered(); never written */
	int files;     /* the directory of --files; -1: none */
};

/* One message, without its newline. */
void server_take(struct mcp_server *server, const char *line, size_t len);
/* One that was longer than MCP_LINE_BYTES. */
void server_refuse_long(struct mcp_server *server);
/* The answer to a request, from any thread; result is stolen, NULL: there was no memory for it. */
void server_answer(struct mcp_server *server, const json_t *id, json_t *result);

#endif
