/* SPDX-License-Identifier: MIT */
/* JSON-RPC 2.0 as the Model Context Protocol uses it: ids are texts or integers. */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_BUSY = -32000,
	RPC_NO_RESOURCE = -32002, /* until 2025-11-25; later RPC_INVALID_PARAMS */
	RPC_VERSION = -32022	  /* of the protocol, which there is not */
};

/* Borrowed from the message. */
struct rpc_request {
	const json_t *id;     /* NULL: a notification */
	const char *method;   /* NULL: an answer, which nobody has asked for */
	const json_t *params; /* an object, which may be empty */
	const json_t *meta;   /* "_meta" of params; NULL: none */
};

/* NULL, and the error to answer with: its code and (a new reference; NULL: not to be known) for
 * whom, since a client that waits for an answer takes none without its id. */
json_t *rpc_load(const char *line, size_t len, enum rpc_code *code, json_t **id, struct error *err);
/* -1 likewise; out->id is what the answer is for, as far as it can be known. */
int rpc_decode(const json_t *message, struct rpc_request *out, enum rpc_code *code,
	       struct error *err);

/* New messages; NULL: no memory. result, data (NULL: none) and params are stolen. */
json_t *rpc_result(const json_t *id, json_t *result);
json_t *rpc_error(const json_t *id, enum rpc_code code, const char *text, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);

#endif
