/* SPDX-License-Identifier: MIT */
/*
 * What a hostile client may write. The bytes go through the decoder of lines, in pieces that the
 * input cuts, then through the decoder of messages. The arguments are compared with the schema of a
 * tool. Each line is used once more as output of a guest, which is captured, cut and escaped.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/capture.h"
#include "mcp/line.h"
#include "mcp/rpc.h"
#include "mcp/schema.h"
#include "mcp/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 200, LIMIT = 40 };

static json_t *arguments_schema(void)
{
	static json_t *schema;

	if (!schema) {
		json_t *definitions = schema_definitions(NULL);

		schema = schema_whole(definitions, "exec_arguments", NULL);
		json_decref(definitions);
	}
	return schema;
}

static void take_message(const char *line, size_t len)
{
	struct rpc_request request = {0};
	struct error err = {0};
	enum rpc_code code = 0;
	json_auto_t *id = NULL;
	json_auto_t *message = rpc_load(line, len, &code, &id, &err);

	if (!message ? code == 0 : rpc_decode(message, &request, &code, &err) < 0 && code == 0)
		abort();
	if (message && request.params)
		(void)schema_check(arguments_schema(), request.params, "", &err);
	json_auto_t *answer =
		rpc_error(message ? request.id : id, RPC_INVALID_PARAMS, err.msg, NULL);
	if (!answer)
		abort(); /* nobody would get an answer */
}

/* The text has no characters that a terminal obeys, and it is UTF-8. */
static void check_shown(struct buf *shown)
{
	json_auto_t *text = json_stringn((const char *)buf_bytes(shown), shown->len);

	if (!text || memchr(buf_bytes(shown), 0x1b, shown->len) ||
	    memchr(buf_bytes(shown), 0, shown->len))
		abort();
}

static void take_words(const char *line, size_t len)
{
	autobuf struct buf shown = BUF_INIT(0);
	struct mcp_capture capture;
	struct text_parts parts;
	bool cut;

	mcp_capture_init(&capture, LIMIT);
	mcp_capture_take(&capture, false, line, len / 2);
	mcp_capture_take(&capture, false, line + len / 2, len - len / 2);
	captured_parts(&capture.streams[0], &parts);
	(void)text_is_utf8(&parts);
	if (text_cut(&parts, LIMIT, NULL, &shown, &cut, NULL) < 0 || parts.total != len ||
	    shown.len > LIMIT + 80)
		abort();
	check_shown(&shown);
	mcp_capture_free(&capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_decoder lines = {.skipping = false};

	limit_set(LIMIT_MCP_LINE_BYTES, MOST);
	limit_set(LIMIT_MCP_OUTPUT_BYTES, 2 * LIMIT);
	for (size_t at = 0; at < size;) {
		size_t part = data[at] % 64u + 1;
		enum line_got got;
		const char *line;
		size_t len;

		at++;
		part = part < size - at ? part : size - at;
		if (line_feed(&lines, data + at, part, NULL) < 0)
			abort();
		at += part;
		while ((got = line_next(&lines, &line, &len)) != LINE_NONE) {
			if (got == LINE_TOO_LONG)
				continue;
			if (len > MOST || memchr(line, '\n', len))
				abort();
			take_message(line, len);
			take_words(line, len);
		}
	}
	line_decoder_free(&lines);
	return 0;
}
