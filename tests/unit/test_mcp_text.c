/* SPDX-License-Identifier: MIT */
/* Tests a guest's text: escaped, cut, kept. */
#include "test_base.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "mcp/kept.h"
#include "mcp/text.h"

static void assert_escaped(const char *text, const char *shown)
{
	autobuf struct buf out = BUF_INIT(0);

	assert_int_equal(text_escape(text, strlen(text), &out, NULL), 0);
	assert_string_equal(buf_string(&out), shown);
}

static void test_escape(void **state)
{
	autobuf struct buf out = BUF_INIT(0);

	(void)state;
	assert_escaped("a\tb\nc\r\n4", "a\tb\nc\r\n4");
	assert_escaped("a\rb\r", "a\\x0db\\x0d");
	assert_escaped("\x1b[31m\x7f", "\\x1b[31m\\x7f");
	assert_escaped("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
		       "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
	assert_escaped("\xc2\x9b"
		       "31m",
		       "\\u009b31m");
	assert_escaped("\xe2\x80\xae"
		       "abc\xe2\x81\xa6\xd8\x9c",
		       "\\u202eabc\\u2066\\u061c");
	assert_escaped("\xf3\xa0\x81\x81\xf3\xa0\x84\x80", "\\u{e0041}\\u{e0100}");
	/* Letters of an invisible script. Joiners and emoji selectors are seen by their effect;
	 * those without an effect could spell a text too (test_base_utf8.c). */
	assert_escaped("a\xe2\x81\xa2\xe2\x81\xa4\xe2\x80\x8b\xef\xbb\xbf",
		       "a\\u2062\\u2064\\u200b\\ufeff");
	assert_escaped("\xc2\xad\xef\xb8\x80\xe3\x85\xa4\xf0\x9d\x85\xb3",
		       "\\u00ad\\ufe00\\u3164\\u{1d173}");
	assert_escaped("\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5 \xe2\x80\x8c",
		       "\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5 \\u200c");
	assert_escaped("x\xe2\x80\x8d\xe2\x80\x8c\xe2\x80\x8d"
		       "y",
		       "x\\u200d\\u200c\\u200dy");
	assert_escaped("\xff\xc3", "\\xff\\xc3");
	assert_int_equal(text_escape("a\0b", 3, &out, NULL), 0);
	assert_string_equal(buf_string(&out), "a\\x00b");
}

static void test_escape_all(void **state)
{
	json_auto_t *value = json_pack("{s:[s,i,{s:s}], s:s}", "a", "x\x1b", 7, "b", "\xe2\x80\xae",
				       "c", "plain");

	(void)state;
	assert_int_equal(text_escape_all(value, NULL), 0);
	autofree char *text = json_dumps(value, JSON_COMPACT);
	assert_string_equal(text, "{\"a\":[\"x\\\\x1b\",7,{\"b\":\"\\\\u202e\"}],\"c\":\"plain\"}");
}

/* Fed in parts of so many bytes, with head and tail of that length. */
static void capture_text(struct mcp_capture *capture, const char *text, size_t part, size_t tail)
{
	size_t len = strlen(text);

	mcp_capture_init(capture, tail);
	for (size_t at = 0; at < len; at += part)
		mcp_capture_take(capture, false, text + at, part < len - at ? part : len - at);
}

static void assert_cut(const char *text, size_t limit, const char *shown)
{
	for (size_t part = 1; part < 30; part++) {
		autobuf struct buf out = BUF_INIT(0);
		struct mcp_capture capture;
		struct text_parts parts;
		bool cut;

		capture_text(&capture, text, part, limit);
		captured_parts(&capture.streams[0], &parts);
		assert_int_equal(parts.total, strlen(text));
		assert_int_equal(text_cut(&parts, limit, "there", &out, &cut, NULL), 0);
		assert_string_equal(buf_string(&out), shown);
		assert_int_equal(cut, strstr(shown, "cut out") != NULL);
		mcp_capture_free(&capture);
	}
}

static void test_cut(void **state)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	(void)state;
	assert_cut("", 10, "");
	assert_cut("0123456789", 10, "0123456789");
	for (uint64_t head = 12; head < 50; head += 8) {
		limit_set(LIMIT_MCP_OUTPUT_BYTES, head);
		assert_cut(digits, 10, "0123\n[... 26 bytes are cut out here: there ...]\nuvwxyz");
		assert_cut("01234\xc3\xbc"
			   "6789abcdefghijklmnopqrst\xf0\x9f\x98\x80xyz",
			   10, "0123\n[... 31 bytes are cut out here: there ...]\nxyz");
		/* An escaped text is longer than before, and is not cut within an escape. */
		assert_cut("01\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b", 10,
			   "01\n[... 7 bytes are cut out here: there ...]\n\\x1b");
		/* If the cut separates the emoji from its selector, the selector stays as long as
		 * it was. */
		assert_cut("0123456789\xe2\x9d\xa4\xef\xb8\x8f"
			   "yz",
			   10, "0123\n[... 9 bytes are cut out here: there ...]\n\xef\xb8\x8fyz");
	}
	limit_reset(LIMIT_MCP_OUTPUT_BYTES);
}

static bool is_utf8_when_kept(const char *text)
{
	struct mcp_capture capture;
	struct text_parts parts;
	bool is_text;

	capture_text(&capture, text, 3, 6);
	captured_parts(&capture.streams[0], &parts);
	is_text = text_is_utf8(&parts);
	mcp_capture_free(&capture);
	return is_text;
}

static void test_encoding(void **state)
{
	(void)state;
	assert_true(is_utf8_when_kept(""));
	assert_true(is_utf8_when_kept("gr\xc3\xbc\xc3\x9f"));
	assert_false(is_utf8_when_kept("gr\xc3"));
	/* If head and tail begin and end within characters they are text all the same. */
	for (uint64_t head = 8; head < 24; head++) {
		limit_set(LIMIT_MCP_OUTPUT_BYTES, head);
		assert_true(is_utf8_when_kept("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
					      "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"));
		assert_false(is_utf8_when_kept("aaaaa\xff"
					       "aaaaaaaaaaaaaaaaaaaaaaaaa"));
		assert_false(is_utf8_when_kept("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xff"
					       "aa"));
	}
	limit_reset(LIMIT_MCP_OUTPUT_BYTES);
}

/* --- kept output ----------------------------------------------------------------------------- */

static void keep_text(struct mcp_kept *kept, const char *session, unsigned number, const char *text)
{
	struct mcp_capture capture;
	char uri[KEPT_URI_ROOM];

	capture_text(&capture, text, 64, 16);
	kept_uri(session, number, false, uri);
	assert_int_equal(kept_add(kept, session, uri, &capture.streams[0], NULL), 0);
	mcp_capture_free(&capture);
}

/* Returns the text or blob of a resource, "" with the error's message if it cannot be read. */
static char *read_kept(struct mcp_kept *kept, const char *uri, struct error *err)
{
	json_auto_t *contents = kept_read(kept, uri, 20, err);
	const json_t *first = json_array_get(contents, 0);
	const char *text = json_string_value(json_object_get(first, "text"));

	if (!contents)
		return strdup("");
	return strdup(text ? text : json_string_value(json_object_get(first, "blob")));
}

static void assert_kept(struct mcp_kept *kept, const char *uri, const char *wanted)
{
	struct error err = {0};
	autofree char *text = read_kept(kept, uri, &err);

	assert_string_equal(*text || !*wanted ? text : err.msg, wanted);
}

static void assert_not_kept(struct mcp_kept *kept, const char *uri, enum error_code code,
			    const char *message)
{
	struct error err = {0};

	assert_null(kept_read(kept, uri, 20, &err));
	assert_int_equal(err.code, code);
	assert_string_equal(err.msg, message);
}

static void test_kept(void **state)
{
	struct mcp_kept kept;

	(void)state;
	mcp_kept_init(&kept);
	keep_text(&kept, "s", 1, "0123456789abcdefghijklmnopq");
	keep_text(&kept, NULL, 1, "\xff\xfe");
	keep_text(&kept, "s", 2,
		  "a\xc3\xbc\xc3\xbc"
		  "b\x1b");
	assert_kept(&kept, "microagent://session/s/exec/1/stdout", "0123456789abcdefghij");
	assert_kept(&kept, "microagent://session/s/exec/1/stdout?offset=20&limit=3", "klm");
	assert_kept(&kept, "microagent://session/s/exec/1/stdout?limit=99&offset=25", "pq");
	assert_kept(&kept, "microagent://session/s/exec/1/stdout?offset=18446744073709551615", "");
	assert_kept(&kept, "microagent://run/1/stdout", "//4=");
	/* The parts, one after the other, have each character once. */
	assert_kept(&kept, "microagent://session/s/exec/2/stdout?offset=0&limit=2", "a\xc3\xbc");
	assert_kept(&kept, "microagent://session/s/exec/2/stdout?offset=2&limit=2", "\xc3\xbc");
	assert_kept(&kept, "microagent://session/s/exec/2/stdout?offset=4&limit=9", "b\\x1b");
	assert_not_kept(
		&kept, "microagent://run/1/stdout?x=1", ERR_INVALID,
		"the query of the resource's URI is wrong: only offset=BYTES and limit=BYTES may follow the \"?\"");
	assert_not_kept(
		&kept, "microagent://run/1/stdout?offset=-1", ERR_INVALID,
		"offset and limit in the resource's URI must be whole numbers of bytes, like offset=0&limit=4096");
	assert_not_kept(
		&kept, "microagent://run/1/std", ERR_NOT_FOUND,
		"there is no resource microagent://run/1/std: it was never made, or was dropped for newer ones: make the call again that returned it");
	kept_drop(&kept, "s");
	assert_not_kept(
		&kept, "microagent://session/s/exec/1/stdout", ERR_NOT_FOUND,
		"there is no resource microagent://session/s/exec/1/stdout: it was never made, or was dropped for newer ones: make the call again that returned it");
	json_auto_t *list = kept_list(&kept);
	assert_int_equal(json_array_size(list), 1);
	mcp_kept_free(&kept);
}

/* The oldest go first. */
static void test_room(void **state)
{
	struct mcp_kept kept;

	(void)state;
	limit_set(LIMIT_MCP_KEPT_BYTES, 20);
	mcp_kept_init(&kept);
	for (unsigned i = 1; i <= 5; i++)
		keep_text(&kept, NULL, i, "12345678");
	json_auto_t *list = kept_list(&kept);
	assert_int_equal(json_array_size(list), 2);
	assert_kept(&kept, "microagent://run/4/stdout", "12345678");
	assert_kept(&kept, "microagent://run/5/stdout", "12345678");
	mcp_kept_free(&kept);
	limit_reset(LIMIT_MCP_KEPT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape), cmocka_unit_test(test_escape_all),
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_kept),   cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
