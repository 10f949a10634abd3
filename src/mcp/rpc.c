/* SPDX-License-Identifier: MIT */
#include "mcp/rpc.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/text.h"

/* Finds the id of a request that json_load_nul() has refused, for example because a number is too
 * large or the nesting is too deep. Returns NULL if there is no id. */
static json_t *id_of_unread(const char *line, size_t len)
{
	/* The largest number N such that a double can store every whole number from 0 to N. */
	static const double most_whole = 9007199254740992.0;
	json_auto_t *loose = json_loadb(line, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	json_t *id = json_object_get(loose, "id");
	double number = json_real_value(id);

	if (json_is_string(id))
		return json_incref(id);
	return json_is_real(id) && number >= -most_whole && number <= most_whole &&
			       number == (double)(json_int_t)number
		       ? json_integer((json_int_t)number)
		       : NULL;
}

/* Loads a message. A NUL in a text is not refused here, but where the text is read. So the error
 * can name the text and the request's id. */
json_t *rpc_load(const char *line, size_t len, enum rpc_code *code, json_t **id, struct error *err)
{
	json_t *message = json_load_nul(line, len, err);

	if (!message) {
		*code = RPC_PARSE_ERROR;
		*id = id_of_unread(line, len);
	}
	return message;
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
	if (!json_is_object(message))
		return error_set(
			err, ERR_INVALID,
			json_is_array(message)
				? "a message must be an object, because only version 2025-03-26 of the protocol has batches: send one message a line"
				: "a message must be an object: send one object a line");
	if (json_get_string(message, "", "jsonrpc", JSON_REQUIRED, &version, err) < 0)
		return -1;
	if (strcmp(version, "2.0") != 0)
		return error_set(err, ERR_INVALID, "jsonrpc must be \"2.0\"");
	if (id && !is_rpc_id(id))
		return error_set(err, ERR_INVALID,
				 "id must be a string or an integer: give each request one");
	/* A result or an error is ignored, because the server never asks the client anything. */
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

	/* The text of the error may contain a part of the request, which may be cut within a
	 * character. */
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
