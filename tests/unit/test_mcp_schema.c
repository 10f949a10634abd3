/* SPDX-License-Identifier: MIT */
/* Tests the schemas that the program carries, and values that are compared with them. */
#include "test_base.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/schema.h"

static void test_whole(void **state)
{
	struct error err = {0};
	json_auto_t *definitions = schema_definitions(&err);
	const char *name;
	json_t *each;

	(void)state;
	assert_non_null(definitions);
	json_object_foreach(definitions, name, each)
	{
		json_auto_t *whole = schema_whole(definitions, name, &err);
		autofree char *text = whole ? json_dumps(whole, 0) : NULL;

		(void)each;
		assert_non_null(text);
		assert_null(strstr(text, "$ref"));
	}
	assert_null(schema_whole(definitions, "nonesuch", &err));
	assert_int_equal(err.code, ERR_INTERNAL);
}

/* Returns the text about a value, "" if the value is right. */
static void assert_said(const char *schema, const char *value, const char *said)
{
	struct error err = {0};
	json_auto_t *type = json_loads(schema, JSON_DECODE_ANY, NULL);
	json_auto_t *it = json_loads(value, JSON_DECODE_ANY, NULL);
	int status = schema_check(type, it, "", &err);

	assert_string_equal(err.msg, said);
	assert_int_equal(status, *said ? -1 : 0);
}

#define OBJECT(properties, more) \
	"{\"type\":\"object\",\"properties\":{" properties "},\"additionalProperties\":" more "}"

static void test_check(void **state)
{
	(void)state;
	assert_said(OBJECT("\"a\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3}", "false"),
		    "{\"a\":3}", "");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3}", "false"),
		    "{\"a\":4}", "a must be at most 3");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\",\"minimum\":1}", "false"), "{\"a\":-1}",
		    "a must be at least 1");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\"}", "false"), "{\"a\":1.5}",
		    "a must be of type integer");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\"}", "false"), "{\"a\":1e300}",
		    "a must be of type integer");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\",\"maximum\":1000000000}", "false"),
		    "{\"a\":1000000000.0}", "");
	assert_said(OBJECT("\"a\":{\"type\":\"integer\",\"maximum\":3}", "false"), "{\"a\":4.0}",
		    "a must be at most 3");
	assert_said(OBJECT("\"a\":{\"type\":\"boolean\"}", "false"), "{\"a\":null}",
		    "a must be of type boolean");
	assert_said(OBJECT("\"a\":{\"type\":\"boolean\"}", "false"), "{\"a\":false,\"b\":1}",
		    "b is not a known argument of this tool: leave it out, or correct its name");
	assert_said(OBJECT("", "{\"type\":\"string\",\"maxLength\":2}"), "{\"b\":\"abc\"}",
		    "b must be at most 2 bytes long");
	assert_said("{\"type\":\"object\",\"required\":[\"x\"]}", "{}", "x is required");
	assert_said(OBJECT("\"a\":{\"enum\":[\"x\",\"y\"]}", "false"), "{\"a\":\"z\"}",
		    "a must be one of: x, y");
	assert_said(OBJECT("\"a\":{\"type\":\"string\",\"pattern\":\"^/\"}", "false"),
		    "{\"a\":\"x/y\"}", "a must be an absolute path");
	assert_said(
		OBJECT("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}",
		       "false"),
		"{\"a\":[\"x\",[]]}", "a[1] must be of type string");
	assert_said("{\"type\":\"object\"}", "[]", "arguments must be of type object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
					   cmocka_unit_test(test_check)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
