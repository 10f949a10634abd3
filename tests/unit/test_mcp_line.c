/* SPDX-License-Identifier: MIT */
/* Tests lines of bytes, and messages of lines. */
#include "test_base.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "mcp/line.h"
#include "mcp/rpc.h"

#define MOST 10

static int setup_limit(void **state)
{
	(void)state;
	limit_set(LIMIT_MCP_LINE_BYTES, MOST);
	return 0;
}

static int reset_limit(void **state)
{
	(void)state;
	limit_reset(LIMIT_MCP_LINE_BYTES);
	return 0;
}

/* Returns the result of the text when it is fed in parts of so many bytes: lines in brackets, "!"
 * for one that is too long. */
static void lines_of(const char *text, size_t part, char *out, size_t size)
{
	struct line_decoder decoder = {.skipping = false};
	size_t len = strlen(text), used = 0;

	*out = '\0';
	for (size_t at = 0; at < len; at += part) {
		enum line_got got;
		const char *line;
		size_t n;

		assert_int_equal(
			line_feed(&decoder, text + at, part < len - at ? part : len - at, NULL), 0);
		while ((got = line_next(&decoder, &line, &n)) != LINE_NONE)
			used += (size_t)(got == LINE_TOO_LONG
						 ? snprintf(out + used, size - used, "!")
						 : snprintf(out + used, size - used, "[%.*s]",
							    (int)n, line));
	}
	line_decoder_free(&decoder);
}

static void test_lines(void **state)
{
	static const char *const cases[][2] = {
		{"a\nbc\n", "[a][bc]"},
		{"\n\na", "[][]"},
		{"0123456789\n", "[0123456789]"},
		{"0123456789a\nb\n", "![b]"},
		{"0123456789abcdefghijklmnopq\nb\n", "![b]"},
		{"0123456789abcdefghijklmnopq", "!"},
		{"0123456789abc\n0123456789abc\nx\n0123456789abc\n", "!![x]!"},
		{"a\r\n", "[a\r]"},
	};
	char out[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t part = 1; part < 40; part++) {
			lines_of(cases[i][0], part, out, sizeof(out));
			assert_string_equal(out, cases[i][1]);
		}
}

/* Returns the error with which a line is answered; 0: it is a message. */
static int code_of_line(const char *line)
{
	enum rpc_code code = 0;
	struct error err = {0};
	struct rpc_request request = {0};
	json_auto_t *id = NULL;
	json_auto_t *message = rpc_load(line, strlen(line), &code, &id, &err);

	if (!message || rpc_decode(message, &request, &code, &err) < 0) {
		assert_int_equal(err.code, ERR_INVALID);
		return (int)code;
	}
	return 0;
}

static void test_messages(void **state)
{
	(void)state;
	assert_int_equal(code_of_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"), 0);
	assert_int_equal(code_of_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 0);
	assert_int_equal(code_of_line("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}"), 0);
	assert_int_equal(code_of_line("{"), RPC_PARSE_ERROR);
	assert_int_equal(code_of_line("[]"), RPC_INVALID_REQUEST);
	assert_int_equal(code_of_line("{}"), RPC_INVALID_REQUEST);
	assert_int_equal(code_of_line("{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"m\"}"),
			 RPC_INVALID_REQUEST);
	assert_int_equal(code_of_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\","
				      "\"params\":{\"_meta\":[]}}"),
			 RPC_INVALID_PARAMS);
}

/* Returns the id that gets the answer to a line that is no message, as JSON; "" for none. */
static void assert_answered(const char *line, const char *whom)
{
	enum rpc_code code = 0;
	json_auto_t *id = NULL;

	assert_null(rpc_load(line, strlen(line), &code, &id, NULL));
	assert_int_equal(code, RPC_PARSE_ERROR);
	char *text = id ? json_dumps(id, JSON_ENCODE_ANY) : NULL;
	assert_string_equal(text ? text : "", whom);
	free(text);
}

static void test_who_is_answered(void **state)
{
	(void)state;
	assert_answered("{\"id\":7,\"params\":{\"a\":99999999999999999999}}", "7");
	assert_answered("{\"id\":\"x\",\"params\":{\"a\":99999999999999999999}}", "\"x\"");
	assert_answered("{\"id\":99999999999999999999}", "");
	assert_answered("{\"id\":1.5,\"a\":99999999999999999999}", "");
	assert_answered("{\"id\":[],\"a\":99999999999999999999}", "");
	assert_answered("{\"id\":7", "");
	assert_answered("7 8", "");
}

/* A line that is cut off in the middle of a character is answered all the same. */
static void test_error_text(void **state)
{
	json_auto_t *error = rpc_error(NULL, RPC_BUSY, "a\xc3", NULL);

	(void)state;
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(error, "error"), "message")),
		"a\\xc3");
	assert_null(json_object_get(error, "id"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup_limit, reset_limit),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_who_is_answered),
		cmocka_unit_test(test_error_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
