/* SPDX-License-Identifier: MIT */
/* Tests JSON as text: strings that are no UTF-8, and where two documents differ. */
#include "test_base_json.h"

static void put_sets_or_says_why_not(void **state)
{
	json_auto_t *obj = json_object();
	struct error err;

	(void)state;
	assert_ok(json_put_string(obj, "a", "text", &err));
	assert_ok(json_put(obj, "b", json_integer(1), &err));
	assert_ok(json_put(obj, "b", json_integer(2), &err));
	autofree char *line = json_line(obj, &err);
	assert_string_equal(line, "{\"a\":\"text\",\"b\":2}");
	assert_int_equal(json_put(obj, "c", NULL, &err), -1);
	assert_code(err, ERR_IO);
	assert_int_equal(json_put_string(obj, "c", "\xff", &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(err.msg, "c is not valid UTF-8");
	assert_int_equal(json_put_string(obj, "c", NULL, &err), -1);
	assert_code(err, ERR_INTERNAL);
	assert_int_equal(json_object_size(obj), 2);
	json_t *kept = json_integer(3);
	json_incref(kept);
	assert_int_equal(json_put(NULL, "c", kept, &err), -1); /* stolen all the same */
	assert_int_equal(kept->refcount, 1);
	json_decref(kept);
}

#define R "\xef\xbf\xbd"

static void lossy_strings_are_valid(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{TEXT(""), ""},
		{TEXT("plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
		 "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{TEXT("a\0b\0"), "a" R "b" R},
		{TEXT("\x80"), R},
		{TEXT("\xff\xfe"), R R},
		{TEXT("\xc0\xaf"), R R},	     /* overlong */
		{TEXT("\xe0\x80\x80"), R R R},	     /* overlong */
		{TEXT("\xed\xa0\x80"), R R R},	     /* surrogate */
		{TEXT("\xf4\x90\x80\x80"), R R R R}, /* above U+10FFFF */
		{TEXT("\xf0\x9f\x98"), R},	     /* cut at the end */
		{TEXT("\xf0\x9f\x98x"), R "x"},	     /* cut in the middle */
		{TEXT("\xe2\x82\xe2\x82\xac"), R "\xe2\x82\xac"},
		{TEXT("\xc3\0"), R R},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *value = json_string_lossy(rows[i].in, rows[i].len);
		assert_non_null(value);
		assert_string_equal(json_string_value(value), rows[i].out);
	}
	json_auto_t *none = json_string_lossy(NULL, 0);
	assert_string_equal(json_string_value(none), "");
}

/* Whatever bytes come, the strict loader accepts the text. */
static void lossy_strings_load_again(void **state)
{
	unsigned random = 4711;
	uint8_t bytes[64];
	struct error err;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 1103515245 + 12345;
			bytes[i] = (uint8_t)(random >> 16 | (random & 0x4000 ? 0xc0 : 0));
		}
		json_auto_t *value = json_string_lossy(bytes, sizeof(bytes));
		autofree char *line = json_line(value, &err);
		assert_non_null(line);
		json_auto_t *again = json_load_strict(line, strlen(line), &err);
		assert_true(json_equal(value, again));
	}
}

static void differences_are_located(void **state)
{
	static const struct {
		const char *a, *b, *path;
	} rows[] = {
		{"{}", "{}", NULL},
		{"{\"a\":1,\"b\":[1,{}]}", "{\"b\":[1,{}],\"a\":1}", NULL},
		{"1", "2", ""},
		{"{}", "[]", ""},
		{"{\"a\":1}", "{\"a\":2}", "a"},
		{"{\"a\":1}", "{\"a\":1.0}", "a"},
		{"{\"a\":1}", "{}", "a"},
		{"{}", "{\"a\":1}", "a"},
		{"{\"a\":null}", "{}", "a"},
		{"{\"c\":{\"n\":{\"m\":\"x\"}}}", "{\"c\":{\"n\":{\"m\":\"y\"}}}", "c.n.m"},
		{"{\"d\":[1,2]}", "{\"d\":[1,3]}", "d[1]"},
		{"{\"d\":[1]}", "{\"d\":[1,3]}", "d[1]"},
		{"{\"d\":[1,3]}", "{\"d\":[1]}", "d[1]"},
		{"{\"d\":[{\"p\":1}]}", "{\"d\":[{\"p\":2}]}", "d[0].p"},
		{"[[1],[2]]", "[[1],[3]]", "[1][0]"},
		{"{\"a\":1,\"b\":1}", "{\"a\":1,\"b\":2}", "b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *a = load(rows[i].a);
		json_auto_t *b = load(rows[i].b);
		char path[64] = "left over";
		assert_int_equal(json_first_difference(a, b, path, sizeof(path)),
				 rows[i].path != NULL);
		assert_string_equal(path, rows[i].path ? rows[i].path : "");
	}
}

static void difference_fits_any_buffer(void **state)
{
	json_auto_t *a = load("{\"long\":{\"path\":[{\"here\":1}]}}");
	json_auto_t *b = load("{\"long\":{\"path\":[{\"here\":2}]}}");
	char path[8];

	(void)state;
	for (size_t size = 0; size <= sizeof(path); size++) {
		memset(path, '#', sizeof(path));
		assert_int_equal(json_first_difference(a, b, path, size), 1);
		for (size_t i = size; i < sizeof(path); i++)
			assert_int_equal(path[i], '#');
		if (size)
			assert_int_equal(strncmp(path, "long.path", strlen(path)), 0);
	}
}

/* Equal documents of full depth and breadth must not take time exponential in the depth. */
static void deep_equal_documents(void **state)
{
	autofree char *text = malloc(1000);
	struct error err;

	(void)state;
	size_t len = nest(text, 64, "{\"a\":", '}');
	json_auto_t *a = json_load_strict(text, len, &err);
	json_auto_t *b = json_load_strict(text, len, &err);
	char path[8];
	assert_int_equal(json_first_difference(a, b, path, sizeof(path)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_sets_or_says_why_not),
		cmocka_unit_test(lossy_strings_are_valid),
		cmocka_unit_test(lossy_strings_load_again),
		cmocka_unit_test(differences_are_located),
		cmocka_unit_test(difference_fits_any_buffer),
		cmocka_unit_test(deep_equal_documents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
