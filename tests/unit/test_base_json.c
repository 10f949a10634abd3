/* SPDX-License-Identifier: MIT */
#include "test_base_json.h"

static void refused(const char *data, size_t len, const char *why)
{
	struct error err;
	json_t *value = json_load_strict(data, len, &err);

	if (value)
		fail_msg("%s was accepted", data);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, why))
		fail_msg("%s: '%s' does not say '%s'", data, err.msg, why);
	for (const char *p = err.msg; *p; p++)
		assert_true(*p >= 0x20 && *p < 0x7f);
}

static void loads_values_of_every_type(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"1",
		"\"x\"",
		"true",
		"null",
		"-0.5e3",
		" \t\r\n{\"a\":[1,{}]}\n ",
		"9223372036854775807",
		"-9223372036854775808",
		"\"\\ud83d\\ude00\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_decref(load(texts[i]));
	json_auto_t *max = load("9223372036854775807");
	assert_true(json_integer_value(max) == INT64_MAX);
	json_auto_t *odd = load("9007199254740993"); /* 2^53 + 1 */
	assert_true(json_integer_value(odd) == INT64_C(9007199254740993));
}

/* jansson itself skips a NUL behind a number or a literal. */
static void raw_nul_is_refused_everywhere(void **state)
{
	static const char whole[] = "{\"a\":1,\"b\":[true,\"x\"]}";
	char text[sizeof(whole)];

	(void)state;
	for (size_t i = 0; i <= strlen(whole); i++) {
		memcpy(text, whole, i);
		text[i] = '\0';
		memcpy(text + i + 1, whole + i, strlen(whole) - i);
		refused(text, strlen(whole) + 1, "NUL");
	}
	refused(TEXT("1\0"), "line 1, column 2: there is a NUL byte");
	refused(TEXT("true\0"), "NUL");
	refused(TEXT("{\"a\":1\0}"), "NUL");
	refused(TEXT("[1,\n2\0]"), "line 2, column 2");
	refused(TEXT("\"a\\u0000b\""), "u0000");
}

static void hostile_documents_are_refused(void **state)
{
	(void)state;
	refused(TEXT(""), "empty");
	refused(TEXT("  \n"), "line");
	refused(TEXT("{\"n\":1,\"n\":2}"), "the same key occurs twice");
	refused(TEXT("{\"o\":{\"n\":1,\"n\":1}}"), "the same key occurs twice");
	refused(TEXT("{\"n\":1,\"\\u006e\":2}"), "the same key occurs twice");
	refused(TEXT("{} {}"), "there is text after the end of the document");
	refused(TEXT("1 2"), "there is text after the end of the document");
	refused(TEXT("{}x"), "there is text after the end of the document");
	refused(TEXT("{\"a\":\"\xff\"}"), "not UTF-8");
	refused(TEXT("\"\xc0\xaf\""), "not UTF-8");
	refused(TEXT("\"\xed\xa0\x80\""), "not UTF-8");
	refused(TEXT("\"\xe2\x82\""), "");
	refused(TEXT("\xef\xbb\xbf{}"), "");
	refused(TEXT("9223372036854775808"), "a number is too large");
	refused(TEXT("-9223372036854775809"), "a number is too large");
	refused(TEXT("18446744073709551615"), "a number is too large");
	refused(TEXT("1e999"), "too large");
	refused(TEXT("01"), "");
	refused(TEXT("+1"), "");
	refused(TEXT("NaN"), "");
	refused(TEXT("{'a':1}"), "");
	refused(TEXT("{\"a\":1,}"), "");
	refused(TEXT("[1,]"), "");
	refused(TEXT("{\"a\" 1}"), "");
	refused(TEXT("{"), "");
	refused(TEXT("]"), "");
	refused(TEXT("\"a"), "");
	refused(TEXT("\"a\nb\""), "it is not JSON");
	refused(TEXT("// x\n{}"), "");
	refused(TEXT("\"\\ud800\""), "it is not JSON");
}

static void position_is_told(void **state)
{
	(void)state;
	refused(TEXT("{\n  \"a\": 1,\n  \"a\": 2\n}"), "line 3, column");
	refused(TEXT("{\n\n  nope}"), "line 3");
}

static void depth_64_is_the_last(void **state)
{
	autofree char *text = malloc(6000000);
	struct error err;

	(void)state;
	json_auto_t *arrays = json_load_strict(text, nest(text, 64, "[", ']'), &err);
	assert_non_null(arrays);
	json_auto_t *objects = json_load_strict(text, nest(text, 64, "{\"a\":", '}'), &err);
	assert_non_null(objects);
	refused(text, nest(text, 65, "[", ']'), "line 1, column 65: nested deeper");
	refused(text, nest(text, 65, "{\"a\":", '}'), "nested deeper");
	refused(text, nest(text, 1000000, "[", 0), "nested deeper");
	refused(text, nest(text, 1000000, "{\"a\":", 0), "nested deeper");
}

/* Brackets in strings, also after escapes, and brackets of neighbours do not count. */
static void depth_counts_real_brackets(void **state)
{
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	(void)state;
	assert_ok(buf_printf(&b, &err, "[\"\\\\\",\"\\\""));
	for (int i = 0; i < 100; i++)
		assert_ok(buf_printf(&b, &err, "[{"));
	assert_ok(buf_printf(&b, &err, "\""));
	for (int i = 0; i < 100; i++)
		assert_ok(buf_printf(&b, &err, ",[[]]"));
	assert_ok(buf_printf(&b, &err, "]"));
	json_auto_t *value = json_load_strict(buf_bytes(&b), b.len, &err);
	assert_int_equal(json_array_size(value), 102);
}

/* Brackets and commas in strings do not count. The text is refused before it is parsed. */
static void a_plain_document_has_few_members(void **state)
{
	static const char text[] = "[{},{\"a\":\"[{,\\\"\"},[1,2]]";
	struct error err = {0};

	(void)state;
	json_auto_t *value = json_load_plain(TEXT(text), 7, &err);
	assert_int_equal(json_array_size(value), 3);
	assert_null(json_load_plain(TEXT(text), 6, &err));
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "too many members, more than 6"));
	assert_null(json_load_plain(TEXT("[,,,] no JSON"), 2, &err));
	assert_non_null(strstr(err.msg, "too many members"));
	assert_null(json_load_plain(TEXT("[\"a\" no JSON"), 2, &err));
	assert_null(strstr(err.msg, "too many members"));
}

static void writes_lines_and_indented(void **state)
{
	struct error err;
	json_auto_t *value = load("{\"z\": 1, \"a\": [true, \"\\u001b\\u00e9\"], \"o\": {}}");
	autofree char *line = json_line(value, &err);
	autofree char *pretty = json_pretty(value, &err);

	(void)state;
	assert_string_equal(line, "{\"z\":1,\"a\":[true,\"\\u001B\xc3\xa9\"],\"o\":{}}");
	assert_string_equal(pretty, "{\n  \"z\": 1,\n  \"a\": [\n    true,\n    "
				    "\"\\u001B\xc3\xa9\"\n  ],\n  \"o\": {}\n}");
	json_auto_t *text = load("\"x\"");
	autofree char *scalar = json_line(text, &err);
	assert_string_equal(scalar, "\"x\"");
	assert_null(json_line(NULL, &err));
	assert_code(err, ERR_INTERNAL);
}

static void getters_take_the_right_type(void **state)
{
	json_auto_t *obj =
		load("{\"s\":\"text\",\"t\":true,\"f\":false,\"i\":-5,\"o\":{},\"a\":[]}");
	const char *s = NULL;
	bool flag = false;
	json_t *sub = NULL;
	struct error err;
	int64_t i = 0;

	(void)state;
	assert_ok(json_get_string(obj, "", "s", JSON_REQUIRED, &s, &err));
	assert_string_equal(s, "text");
	assert_ok(json_get_bool(obj, "", "t", JSON_REQUIRED, &flag, &err));
	assert_true(flag);
	assert_ok(json_get_bool(obj, "", "f", JSON_REQUIRED, &flag, &err));
	assert_false(flag);
	assert_ok(json_get_int(obj, "", "i", JSON_REQUIRED, -5, -5, &i, &err));
	assert_int_equal(i, -5);
	assert_ok(json_get_object(obj, "", "o", JSON_REQUIRED, &sub, &err));
	assert_ptr_equal(sub, json_object_get(obj, "o"));
	assert_ok(json_get_array(obj, "", "a", JSON_REQUIRED, &sub, &err));
	assert_ptr_equal(sub, json_object_get(obj, "a"));
}

/* All five getters with key "k" of doc. */
static int get_any(int which, const json_t *obj, const char *path, enum json_need need,
		   struct error *err)
{
	static const char untouched[] = "untouched";
	const char *s = untouched;
	bool flag = true;
	int64_t i = 1234;
	json_t *sub = NULL;
	int rc;

	switch (which) {
	case 0:
		rc = json_get_string(obj, path, "k", need, &s, err);
		break;
	case 1:
		rc = json_get_bool(obj, path, "k", need, &flag, err);
		break;
	case 2:
		rc = json_get_int(obj, path, "k", need, 0, 9, &i, err);
		break;
	case 3:
		rc = json_get_object(obj, path, "k", need, &sub, err);
		break;
	default:
		rc = json_get_array(obj, path, "k", need, &sub, err);
	}
	/* No call here succeeds with a value, so outputs must be as they were. */
	assert_ptr_equal(s, untouched);
	assert_true(flag);
	assert_int_equal(i, 1234);
	assert_null(sub);
	return rc;
}

static void getters_name_what_is_wrong(void **state)
{
	static const char *const right[] = {"string", "true or false", "integer", "object",
					    "array"};
	static const char *const values[] = {"\"x\"", "true", "5", "{}", "[]", "null", "5.5"};
	json_auto_t *empty = load("{}");
	json_auto_t *list = load("[]");
	struct error err;

	(void)state;
	for (int which = 0; which < 5; which++) {
		assert_ok(get_any(which, empty, "config", JSON_OPTIONAL, &err));
		assert_int_equal(get_any(which, empty, "config", JSON_REQUIRED, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_string_equal(err.msg, "config.k is required");
		assert_int_equal(get_any(which, list, "config", JSON_OPTIONAL, &err), -1);
		assert_string_equal(err.msg, "config must be an object");
		assert_int_equal(get_any(which, NULL, "", JSON_OPTIONAL, &err), -1);
		assert_string_equal(err.msg, "the document must be an object");
		for (int v = 0; v < (int)ARRAY_SIZE(values); v++) {
			autofree char *text = NULL;
			if (v == which)
				continue;
			assert_true(asprintf(&text, "{\"k\":%s}", values[v]) > 0);
			json_auto_t *obj = load(text);
			assert_int_equal(get_any(which, obj, "", JSON_OPTIONAL, &err), -1);
			assert_code(err, ERR_INVALID);
			assert_memory_equal(err.msg, "k must be ", 10);
			assert_non_null(strstr(err.msg, right[which]));
		}
	}
}

static void integers_have_a_range(void **state)
{
	json_auto_t *obj = load("{\"n\":10}");
	int64_t n = 1;
	struct error err;

	(void)state;
	assert_ok(json_get_int(obj, "", "n", JSON_REQUIRED, 10, 10, &n, &err));
	assert_int_equal(json_get_int(obj, "c", "n", JSON_REQUIRED, 11, 20, &n, &err), -1);
	assert_string_equal(err.msg, "c.n must be from 11 to 20");
	assert_int_equal(json_get_int(obj, "c", "n", JSON_REQUIRED, 11, INT64_MAX, &n, &err), -1);
	assert_string_equal(err.msg, "c.n must be at least 11");
	assert_int_equal(json_get_int(obj, "c", "n", JSON_REQUIRED, INT64_MIN, 9, &n, &err), -1);
	assert_string_equal(err.msg, "c.n must be at most 9");
	assert_int_equal(n, 10);
}

static void strings_hold_no_nul(void **state)
{
	json_auto_t *obj = json_pack("{s:s%}", "k", "a\0b", 3);
	const char *s = NULL;
	struct error err;

	(void)state;
	assert_int_equal(json_get_string(obj, "", "k", JSON_REQUIRED, &s, &err), -1);
	assert_string_equal(err.msg, "k must not hold a NUL character");
	assert_null(s);
}

static void only_known_keys(void **state)
{
	static const char *const keys[] = {"memoryMiB", "cpuCount", "cmd", "stateDir", "id", NULL};
	static const struct {
		const char *doc, *message;
	} rows[] = {
		{"{\"memoryMib\":1}",
		 "config.memoryMib is not a known field; did you mean memoryMiB?"},
		{"{\"MEMORYMIB\":1}",
		 "config.MEMORYMIB is not a known field; did you mean memoryMiB?"},
		{"{\"memryMiB\":1}",
		 "config.memryMiB is not a known field; did you mean memoryMiB?"},
		{"{\"cpuCounts\":1}",
		 "config.cpuCounts is not a known field; did you mean cpuCount?"},
		{"{\"puCount\":1}", "config.puCount is not a known field; did you mean cpuCount?"},
		{"{\"cdm\":1}", "config.cdm is not a known field; did you mean cmd?"},
		{"{\"satteDir\":1}",
		 "config.satteDir is not a known field; did you mean stateDir?"},
		{"{\"kernelPath\":1}", "config.kernelPath is not a known field"},
		{"{\"xy\":1}", "config.xy is not a known field"},
		{"{\"\":1}", "config. is not a known field"},
		{"{\"cmd\":1,\"\\u001b[31m\\u00e9\":1}", "config.?[31m?? is not a known field"},
	};
	json_auto_t *good = load("{\"cmd\":1,\"id\":2}");
	json_auto_t *list = load("[]");
	struct error err;

	(void)state;
	assert_ok(json_only_keys(good, "config", keys, &err));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *obj = load(rows[i].doc);
		assert_int_equal(json_only_keys(obj, "config", keys, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_string_equal(err.msg, rows[i].message);
	}
	assert_int_equal(json_only_keys(list, "", keys, &err), -1);
	assert_string_equal(err.msg, "the document must be an object");
	json_auto_t *top = load("{\"cmdd\":1}");
	assert_int_equal(json_only_keys(top, "", keys, &err), -1);
	assert_string_equal(err.msg, "cmdd is not a known field; did you mean cmd?");
}

static void a_huge_unknown_key_is_shown_in_part(void **state)
{
	static const char *const keys[] = {"a", NULL};
	autofree char *key = malloc(1000001);
	struct error err;

	(void)state;
	memset(key, 'k', 1000000);
	key[1000000] = '\0';
	json_auto_t *obj = json_object();
	assert_ok(json_put(obj, key, json_true(), &err));
	assert_int_equal(json_only_keys(obj, "", keys, &err), -1);
	assert_non_null(strstr(err.msg, "kkk... is not a known field"));
	assert_true(strlen(err.msg) < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_values_of_every_type),
		cmocka_unit_test(raw_nul_is_refused_everywhere),
		cmocka_unit_test(hostile_documents_are_refused),
		cmocka_unit_test(position_is_told),
		cmocka_unit_test(depth_64_is_the_last),
		cmocka_unit_test(depth_counts_real_brackets),
		cmocka_unit_test(a_plain_document_has_few_members),
		cmocka_unit_test(writes_lines_and_indented),
		cmocka_unit_test(getters_take_the_right_type),
		cmocka_unit_test(getters_name_what_is_wrong),
		cmocka_unit_test(integers_have_a_range),
		cmocka_unit_test(strings_hold_no_nul),
		cmocka_unit_test(only_known_keys),
		cmocka_unit_test(a_huge_unknown_key_is_shown_in_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
