/* SPDX-License-Identifier: MIT */
/* JSON-RPC 2.0 in the form of the Model Context Protocol, in which an id is a text or an
 * integer. */
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
	/* The resource does not exist. Revisions up to 2025-11-25 of the protocol use this code;
	 * later revisions use RPC_INVALID_PARAMS instead. */
	RPC_NO_RESOURCE = -32002,
	RPC_VERSION = -32022 /* the requested version of the protocol is not supported */
};

/* The parts of a client's message. They belong to the JSON value of the message. */
struct rpc_request {
	const json_t *id;     /* the id of the request; NULL: the message is a notification */
	const char *method;   /* the name of the method; NULL: the message is an answer, which is
			       * ignored */
	const json_t *params; /* the parameters of the method: an object, which may be empty */
	const json_t *meta;   /* the member "_meta" of `params`; NULL: there is none */
};

/* Parses a line. Returns the message. On failure returns NULL with an error and sets *code to the
 * code for the answer. Also sets *id to a new reference to the id for the answer; NULL if the id
 * cannot be known. (A client accepts only an answer that has the id of its request.) */
json_t *rpc_load(const char *line, size_t len, enum rpc_code *code, json_t **id, struct error *err);
/* Finds the parts of a message. Returns 0, or -1 with an error; then *code is the code for the
 * answer. In both cases out->id is the id for the answer, if the id can be known. */
int rpc_decode(const json_t *message, struct rpc_request *out, enum rpc_code *code,
	       struct error *err);

/* Functions that make a new message. They return NULL if there is no memory. They take over the
 * references of `result`, `data` (NULL: there are none) and `params`. */
json_t *rpc_result(const json_t *id, json_t *result);
json_t *rpc_error(const json_t *id, enum rpc_code code, const char *text, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);

#endif
