/* SPDX-License-Identifier: MIT */
/* Reads the arguments of a call, and builds the result of the call. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "mcp/capture.h"
#include "mcp/schema.h"
#include "mcp/server.h"
#include "mcp/tools.h"

/* --- arguments ------------------------------------------------------------------------------- */

const char *call_text(const struct mcp_call *call, const char *name)
{
	return json_text(call->arguments, name, NULL);
}

int64_t call_number(const struct mcp_call *call, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(call->arguments, name);

	if (json_is_real(value)) /* the schema allows only whole numbers (schema_check.c) */
		return (int64_t)json_real_value(value);
	return value ? json_integer_value(value) : otherwise;
}

const char **call_words(const struct mcp_call *call, const char *name, struct error *err)
{
	const json_t *list = json_object_get(call->arguments, name), *word;
	const char **words = calloc(json_array_size(list) + 1, sizeof(*words));
	size_t i;

	if (!words) {
		error_errno(err, ENOMEM, "%s", name);
		return NULL;
	}
	json_array_foreach(list, i, word) words[i] = json_string_value(word);
	return words;
}

struct mcp_session *call_session(struct mcp_call *call, struct error *err)
{
	return mcp_session_take(&call->server->sessions, call_text(call, "session"), err);
}

const char *call_network(const struct mcp_call *call)
{
	const char *asked = call_text(call, "network"), *allowed = call->server->options->network;

	return asked ? asked : allowed ? allowed : "isolated";
}

const char *const *call_allow(const struct mcp_call *call, const char *network)
{
	return strcmp(network, "nat") == 0 ? call->server->options->allow : NULL;
}

struct microagent_egress call_egress(const struct mcp_call *call, const char *network)
{
	static const struct microagent_egress none = {0};

	return strcmp(network, "nat") == 0 ? call->server->options->egress : none;
}

void call_waits_for_boot(void *data)
{
	call_tell(data, false, "booting");
}

/* --- answers --------------------------------------------------------------------------------- */

int answer_structured(struct mcp_answer *answer, json_t *structured, struct error *err)
{
	if (!structured)
		return error_errno(err, ENOMEM, "answer");
	answer->structured = structured;
	return 0;
}

int answer_say(struct mcp_answer *answer, struct error *err, const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text_escape(text, strlen(text), &answer->text, err);
}

static json_t *text_content(const struct buf *text)
{
	return json_pack("[{s:s, s:s%}]", "type", "text", "text", (const char *)buf_bytes(text),
			 text->len);
}

static const json_t *input_schema(const struct mcp_call *call)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(call->server->tools, i, tool)
	{
		if (strcmp(json_text(tool, "name", ""), call->tool->name) == 0)
			return json_object_get(tool, "inputSchema");
	}
	return NULL;
}

json_t *tool_answer(struct mcp_call *call)
{
	struct mcp_answer answer = {.text = BUF_INIT(0)};
	json_auto_t *none = json_object();
	struct error why = {0};
	json_t *result;

	if (schema_check(input_schema(call), call->arguments ? call->arguments : none, "", &why) ==
		    0 &&
	    call->tool->run(call, &answer, &why) == 0 &&
	    text_escape_all(answer.structured, &why) == 0) {
		json_t *content = text_content(&answer.text);

		if (answer.links)
			json_array_extend(content, answer.links);
		result = json_pack("{s:o, s:O}", "content", content, "structuredContent",
				   answer.structured);
	} else {
		autobuf struct buf text = BUF_INIT(0);

		buf_printf(&text, NULL, "error (%s): ", error_code_name(why.code));
		text_escape(why.msg, strlen(why.msg), &text, NULL);
		result = json_pack("{s:o, s:b}", "content", text_content(&text), "isError", 1);
	}
	mcp_answer_free(&answer);
	return result;
}

/* --- the answer about a command -------------------------------------------------------------- */

/* One output stream of a command, while its bytes are put into an answer. */
struct told_stream {
	struct mcp_call *call;
	struct mcp_answer *answer;
	struct captured_stream *stream;
	/* The name of the session, and the name of the stream: "stdout" or "stderr". */
	const char *session, *name;
	unsigned number;
	bool is_stderr, cut;
};

static int put_told_stream(struct told_stream *told, json_t *structured, struct error *err)
{
	struct mcp_server *server = told->call->server;
	struct mcp_answer *answer = told->answer;
	size_t limit = (size_t)server->options->result_bytes;
	char uri[KEPT_URI_ROOM], key[32];
	autobuf struct buf text = BUF_INIT(0);
	autofree char *base64 = NULL;
	struct text_parts parts;
	bool is_text;

	captured_parts(told->stream, &parts);
	kept_uri(told->session, told->number, told->is_stderr, uri);
	is_text = text_is_utf8(&parts);
	if (is_text && text_cut(&parts, limit, uri, &text, &told->cut, err) < 0)
		return -1;
	if (!is_text) {
		size_t most = limit / 4 * 3, len = parts.head_len < most ? parts.head_len : most;

		told->cut = parts.total > len;
		base64 = base64_encode(parts.head, len, err);
		if (!base64)
			return -1;
	}
	snprintf(key, sizeof(key), "%sEncoding", told->name);
	if (json_put_string(structured, key, is_text ? "utf-8" : "base64", err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%sBytes", told->name);
	if (json_put(structured, key, json_integer((json_int_t)parts.total), err) < 0 ||
	    json_put_string(structured, told->name, is_text ? buf_string(&text) : base64, err) < 0)
		return -1;
	if (parts.total > 0 &&
	    (buf_printf(&answer->text, err, "--- %s, %llu bytes%s ---\n", told->name,
			(unsigned long long)parts.total,
			is_text ? "" : ", in base64 because it is not UTF-8") < 0 ||
	     buf_printf(&answer->text, err, "%s\n", is_text ? buf_string(&text) : base64) < 0))
		return -1;
	if (!told->cut)
		return 0;
	if (!answer->links)
		answer->links = json_array();
	if (server->takes_links) {
		json_t *link = json_pack(
			"{s:s, s:s, s:s, s:I, s:s}", "type", "resource_link", "uri", uri, "name",
			uri + strlen("microagent://"), "size", (json_int_t)told->stream->head.len,
			"description",
			"All that is kept of it, untrusted; add ?offset=BYTES&limit=BYTES to read a part.");

		if (json_array_append_new(answer->links, link) < 0)
			return error_errno(err, ENOMEM, "answer");
	}
	return kept_add(&server->kept, told->session, uri, told->stream, err);
}

int answer_command(struct mcp_call *call, struct mcp_answer *answer, struct mcp_capture *capture,
		   const struct command_end *end, const char *session, unsigned number,
		   struct error *err)
{
	struct told_stream told = {
		.call = call, .answer = answer, .session = session, .number = number};
	json_t *structured = json_object();
	bool cut = false, said_something = mcp_capture_total(capture) > 0;

	if (capture->out_of_memory)
		return error_errno(err, ENOMEM, "output");
	if (answer_structured(answer, structured, err) < 0 ||
	    json_put(structured, "exitCode", json_integer(end->exit_code), err) < 0 ||
	    json_put(structured, "timedOut", json_boolean(end->timed_out), err) < 0 ||
	    json_put(structured, "elapsedMs", json_integer(end->elapsed_ms), err) < 0 ||
	    json_put_optional(structured, "accelerator", end->accelerator, err) < 0 ||
	    (*end->start_error &&
	     json_put(structured, "startError",
		      json_string_lossy(end->start_error, strlen(end->start_error)), err) < 0) ||
	    (end->signal && json_put(structured, "signal", json_integer(end->signal), err) < 0) ||
	    (*end->start_error &&
	     answer_say(answer, err, "It never ran: %s\n", end->start_error) < 0))
		return -1;
	if (answer_say(answer, err, "exit code %d%s, after %lld ms%s\n%s", end->exit_code,
		       end->timed_out ? " (timed out)" : "", (long long)end->elapsed_ms,
		       said_something ? "" : "; it printed nothing",
		       said_something ? ANSWER_UNTRUSTED "\n" : "") < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		told.stream = &capture->streams[i];
		told.name = i ? "stderr" : "stdout";
		told.is_stderr = i;
		told.cut = false;
		if (put_told_stream(&told, structured, err) < 0)
			return -1;
		cut = cut || told.cut;
	}
	return json_put(structured, "truncated", json_boolean(cut), err);
}
