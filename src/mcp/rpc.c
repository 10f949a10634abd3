/* SPDX-License-Identifier: MIT */
#include "mcp/rpc.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/text.h"

json_t *rpc_load(const char *line, size_t len, enum rpc_code *code, struct error *err)
{
	json_t *message = json_load_strict(line, len, err);

	if (json_is_object(message))
		return message;
	*code = message ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR;
	if (json_is_array(message))
		error_set(err, ERR_INVALID, "a batch: send one message a line");
	else if (message)
		error_set(err, ERR_INVALID, "a message is an object");
	json_decref(message);
	return NULL;
}

static bool is_rpc_id(const json_t *value)
{
	return json_is_string(value) || json_is_integer(value);
}

int rpc_decode(const json_t *message, struct rpc_request *out, enum rpc_code *code,
	       struct error *err)
{
	const json_t *id = json_object_get(message, "id");
	json_t *params = NULL, *meta = NULL;
	const char *version = NULL, *method = NULL;

	out->id = is_rpc_id(id) ? id : NULL;
	*code = RPC_INVALID_REQUEST;
	if (json_get_string(message, "", "jsonrpc", JSON_REQUIRED, &version, err) < 0)
		return -1;
	if (strcmp(version, "2.0") != 0)
		return error_set(err, ERR_INVALID, "jsonrpc must be \"2.0\"");
	if (id && !is_rpc_id(id))
		return error_set(err, ERR_INVALID, "id must be a text or an integer");
	/* Nothing is ever asked of the client. */
	if (!json_object_get(message, "method") &&
	    (json_object_get(message, "result") || json_object_get(message, "error"))) {
		out->method = NULL;
		return 0;
	}
	if (json_get_string(message, "", "method", JSON_REQUIRED, &method, err) < 0)
		return -1;
	*code = RPC_INVALID_PARAMS;
	if (json_get_object(message, "", "params", JSON_OPTIONAL, &params, err) < 0 ||
	    (params && json_get_object(params, "params", "_meta", JSON_OPTIONAL, &meta, err) < 0))
		return -1;
	out->method = method;
	out->params = params;
	out->meta = meta;
	return 0;
}

json_t *rpc_result(const json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *rpc_error(const json_t *id, enum rpc_code code, const char *text, json_t *data)
{
	autobuf struct buf safe = BUF_INIT(0);

	/* It may have a part of what was asked in it, cut anywhere. */
	if (text_escape(text, strlen(text), &safe, NULL) < 0) {
		json_decref(data);
		return NULL;
	}
	return json_pack("{s:s, s:O*, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id", id, "error",
			 "code", (int)code, "message", buf_string(&safe), "data", data);
}

json_t *rpc_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}
