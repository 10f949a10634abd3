/* SPDX-License-Identifier: MIT */
/* Tests the guest's messages, which are hostile, and the host's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/control_message.h"
#include "supervisor/live/result.h"

static json_t *decode(const char *text, enum control_type *type, struct error *err)
{
	return control_decode((const uint8_t *)text, strlen(text), type, err);
}

static void types(void **state)
{
	static const struct {
		const char *text;
		enum control_type type;
	} good[] = {{"{\"type\":\"hello\"}", CONTROL_HELLO},
		    {"{\"type\":\"ready\",\"more\":[1,2]}", CONTROL_READY},
		    {"{\"type\":\"result\"}", CONTROL_RESULT},
		    {"{\"type\":\"telemetry\"}", CONTROL_TELEMETRY},
		    {"{\"type\":\"quiesced\"}", CONTROL_QUIESCED},
		    {"{\"type\":\"settled\"}", CONTROL_SETTLED},
		    {"{\"type\":\"telemetry-status\"}", CONTROL_TELEMETRY_STATUS},
		    {"{\"type\":\"of-tomorrow\"}", CONTROL_UNKNOWN},
		    {"{\"type\":\"\"}", CONTROL_UNKNOWN}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		enum control_type type = CONTROL_UNKNOWN;
		struct error err;
		json_auto_t *message = decode(good[i].text, &type, &err);

		assert_non_null(message);
		assert_int_equal(type, good[i].type);
	}
}

static void what_is_no_message(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"\"hello\"",
		"{}",
		"{\"type\":1}",
		"{\"type\":\"hello\",\"type\":\"hello\"}",
		"{\"type\":\"hello\"}{}",
		"{\"type\":\"ready\\u0000\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		enum control_type type;
		struct error err = {0};

		if (decode(bad[i], &type, &err))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

/* A message that is small on the wire and huge when decoded. */
static void a_bomb_of_brackets(void **state)
{
	struct buf text = {0};
	struct error err = {0};
	enum control_type type;

	(void)state;
	assert_int_equal(buf_printf(&text, &err, "{\"type\":\"hello\",\"x\":["), 0);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_printf(&text, &err, "[],"), 0);
	assert_int_equal(buf_printf(&text, &err, "[]]}"), 0);
	assert_null(control_decode(buf_bytes(&text), text.len, &type, &err));
	assert_non_null(strstr(err.msg, "too many"));
	buf_free(&text);
}

static int hello(const char *text, struct control_hello *out, struct error *err)
{
	enum control_type type;
	json_auto_t *message = decode(text, &type, err);

	assert_non_null(message);
	return control_read_hello(message, out, err);
}

static void hellos(void **state)
{
	struct control_hello got;
	struct error err = {0};

	(void)state;
	assert_int_equal(
		hello("{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":3}}", &got, &err), 0);
	assert_int_equal(
		hello("{\"type\":\"hello\",\"protocol\":{\"min\":2,\"max\":3}}", &got, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "install the kernel's initrd again"));
	assert_int_equal(hello("{\"type\":\"hello\"}", &got, &err), -1);
	assert_int_equal(hello("{\"type\":\"hello\",\"protocol\":[1]}", &got, &err), -1);
	assert_int_equal(
		hello("{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":1},\"generation\":-1}",
		      &got, &err),
		-1);
	assert_int_equal(
		hello("{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":1},\"version\":"
		      "\"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
		      &got, &err),
		-1);
}

static void hostnames(void **state)
{
	static const char *const names[][2] = {
		{"agent-1", "agent-1"},
		{"My_Agent.2", "my-agent-2"},
		{"--a--b--", "a-b"},
		{"...", "microagent"},
		{"\xc3\xa9t\xc3\xa9", "t"},
		{"a123456789b123456789c123456789d123456789e123456789f123456789g123456789",
		 "a123456789b123456789c123456789d123456789e123456789f123456789g12"},
		{"a123456789b123456789c123456789d123456789e123456789f123456789g1.3456789",
		 "a123456789b123456789c123456789d123456789e123456789f123456789g1"},
	};
	char got[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		control_hostname(names[i][0], got);
		assert_string_equal(got, names[i][1]);
	}
}

static void the_config_message(void **state)
{
	json_auto_t *command = json_pack("[s,s]", "sleep", "1");
	struct config config = {
		.command = command, .user = "root", .cwd = "/w", .timeout_seconds = 5};
	struct error err = {0};
	json_auto_t *with = control_config(&config, "W", true, &err);
	json_auto_t *without = NULL;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(with, "hostname")), "w");
	assert_true(json_is_true(json_object_get(with, "attach")));
	assert_true(json_equal(json_object_get(with, "command"), command));
	assert_int_equal(json_integer_value(json_object_get(with, "timeoutSeconds")), 5);
	assert_string_equal(json_string_value(json_object_get(with, "cwd")), "/w");
	config = (struct config){.hostname = "h"};
	without = control_config(&config, "W", true, &err);
	assert_string_equal(json_string_value(json_object_get(without, "hostname")), "h");
	/* There is nothing to attach to. */
	assert_true(json_is_false(json_object_get(without, "attach")));
	assert_null(json_object_get(without, "command"));
	assert_null(json_object_get(without, "user"));
	assert_null(json_object_get(without, "cwd"));
	assert_null(json_object_get(without, "timeoutSeconds"));
}

static const char *renewed(const json_t *message, const char *key)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(message, "renew"), key));

	assert_non_null(text);
	return text;
}

static void what_makes_a_restored_machine_another(void **state)
{
	static const char *const keys[] = {"entropy", "bootId", "machineId"};
	json_auto_t *one = json_object(), *other = json_object();
	struct error err = {0};

	(void)state;
	assert_int_equal(control_put_renew(one, &err), 0);
	assert_int_equal(control_put_renew(other, &err), 0);
	assert_int_equal(strlen(renewed(one, "entropy")), 88); /* 64 bytes */
	assert_int_equal(strlen(renewed(one, "bootId")), 36);
	assert_int_equal(strspn(renewed(one, "bootId"), "0123456789abcdef-"), 36);
	assert_int_equal(renewed(one, "bootId")[14], '4');
	assert_int_equal(strlen(renewed(one, "machineId")), 32);
	assert_int_equal(strspn(renewed(one, "machineId"), "0123456789abcdef"), 32);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_string_not_equal(renewed(one, keys[i]), renewed(other, keys[i]));
	assert_int_equal(control_put_template(one, &err), 0);
	assert_true(json_is_true(json_object_get(one, "template")));
}

/* --- results --------------------------------------------------------------------------------- */

#define TIMES "\"startedAt\":\"2026-05-02T00:00:00Z\",\"completedAt\":\"2026-05-02T00:00:01.5Z\""

static json_t *result(const char *fields, int *code, struct error *err)
{
	json_auto_t *identity = json_pack("{s:s}", "runtimeID", "w");
	autofree char *text = NULL;
	json_auto_t *message = NULL;

	assert_true(asprintf(&text, "{\"type\":\"result\",%s}", fields) > 0);
	message = json_load_strict(text, strlen(text), err);
	assert_non_null(message);
	return result_from_message(message, identity, "qemu", "/s/w/result.json", code, err);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(none)";
}

static void a_result(void **state)
{
	struct error err = {0};
	int code = -1;
	json_auto_t *got = result(TIMES ",\"exitCode\":137,\"signal\":9,\"timedOut\":true,"
					"\"stdout\":\"aGkK\",\"stderr\":\"\",\"error\":\"no room\","
					"\"more\":1",
				  &code, &err);

	(void)state;
	assert_non_null(got);
	assert_int_equal(code, 137);
	assert_string_equal(text_of(got, "stdout"), "hi\n");
	assert_string_equal(text_of(got, "stderr"), "");
	assert_string_equal(text_of(got, "error"), "no room");
	assert_string_equal(text_of(got, "backend"), "qemu");
	assert_string_equal(text_of(got, "resultPath"), "/s/w/result.json");
	assert_int_equal(json_integer_value(json_object_get(got, "signal")), 9);
	assert_true(json_is_true(json_object_get(got, "timedOut")));
	assert_null(json_object_get(got, "stdoutBase64"));
	assert_null(json_object_get(got, "stdoutTruncated"));
	assert_null(json_object_get(got, "more"));
}

static void bytes_that_are_no_text(void **state)
{
	struct error err = {0};
	int code;
	json_auto_t *got = result(TIMES ",\"exitCode\":0,\"stdout\":\"Yf9i\",\"stderr\":\"YQBi\","
					"\"stdoutTruncated\":true",
				  &code, &err);

	(void)state;
	assert_string_equal(text_of(got, "stdout"), "a\xef\xbf\xbd"
						    "b");
	assert_string_equal(text_of(got, "stdoutBase64"), "Yf9i");
	assert_string_equal(text_of(got, "stderrBase64"), "YQBi"); /* NUL */
	assert_true(json_is_true(json_object_get(got, "stdoutTruncated")));
}

static void never_ran(void **state)
{
	struct error err = {0};
	int code;
	json_auto_t *got =
		result(TIMES ",\"exitCode\":127,\"startError\":\"not found\"", &code, &err);

	(void)state;
	assert_string_equal(text_of(got, "startError"), "not found");
}

static void results_that_are_refused(void **state)
{
	static const char *const bad[] = {
		"\"exitCode\":0",
		TIMES,
		TIMES ",\"exitCode\":256",
		TIMES ",\"exitCode\":-1",
		TIMES ",\"exitCode\":\"0\"",
		TIMES ",\"exitCode\":1.5",
		TIMES ",\"exitCode\":0,\"signal\":65",
		TIMES ",\"exitCode\":0,\"timedOut\":1",
		TIMES ",\"exitCode\":0,\"stdout\":\"not base64\"",
		TIMES ",\"exitCode\":0,\"stdout\":7",
		TIMES ",\"exitCode\":0,\"error\":{}",
		"\"startedAt\":\"yesterday at about "
		"noon\",\"completedAt\":\"2026-05-02T00:00:01Z\","
		"\"exitCode\":0",
		"\"startedAt\":\"2026-05-02T00:00:00\\u001b[2J\",\"completedAt\":"
		"\"2026-05-02T00:00:01Z\",\"exitCode\":0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = {0};
		int code = 99;

		if (result(bad[i], &code, &err))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(code, 99);
	}
}

static void a_stream_above_its_limit(void **state)
{
	struct error err = {0};
	int code;

	(void)state;
	limit_set(LIMIT_RESULT_STREAM_BYTES, 3);
	json_decref(result(TIMES ",\"exitCode\":0,\"stdout\":\"YWJj\"", &code, &err));
	assert_int_equal(err.code, ERR_NONE);
	assert_null(result(TIMES ",\"exitCode\":0,\"stdout\":\"YWJjZA==\"", &code, &err));
	limit_reset(LIMIT_RESULT_STREAM_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(what_is_no_message),
		cmocka_unit_test(a_bomb_of_brackets),
		cmocka_unit_test(hellos),
		cmocka_unit_test(hostnames),
		cmocka_unit_test(the_config_message),
		cmocka_unit_test(what_makes_a_restored_machine_another),
		cmocka_unit_test(a_result),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(never_ran),
		cmocka_unit_test(results_that_are_refused),
		cmocka_unit_test(a_stream_above_its_limit),
	};

	return cmocka_run_group_tests_name("supervisor messages", tests, NULL, NULL);
}
