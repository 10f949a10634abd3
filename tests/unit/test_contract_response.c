/* SPDX-License-Identifier: MIT */
/* Tests responses: every command has exactly the blocks of the field table, which is written again
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "contract/response.h"

static void assert_json(const json_t *value, const char *expected)
{
	autofree char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	assert_non_null(text);
	assert_string_equal(text, expected);
}

/* Makes a response with all blocks, each with its own name as contents. */
static struct response full(void)
{
	return (struct response){
		.backend = "qemu",
		.event = json_string("event"),
		.host = json_string("host"),
		.kernel = json_string("kernel"),
		.verification = json_string("verification"),
		.readiness = json_string("readiness"),
		.result = json_string("result"),
		.artifacts = json_string("artifacts"),
		.mediation = json_string("mediation"),
		.network = json_string("network"),
		.shared_anyway = json_string("sharedAnyway"),
		.term = json_pack("{s:s}", "endsAt", "endsAt"),
	};
}

static void blocks_by_command(void **state)
{
	static const char *const keys[] = {"event",	"host",		"kernel",    "verification",
					   "readiness", "result",	"artifacts", "mediation",
					   "network",	"sharedAnyway", "endsAt"};
	static const struct {
		const char *command, *blocks; /* a letter for each key above that is there */
	} rows[] = {
		{"host", ".hk........"},    {"check", "e..v...m.s."}, {"prepare", "e..v..am.s."},
		{"start", "e..vrramnse"},   {"run", "e..vrramnse"},   {"console", "e.........."},
		{"inspect", "e..vrramnse"}, {"halt", "e.........."},  {"quarantine", "e.........."},
		{"stop", "e.........."},    {"kill", "e.........."},  {"delete", "e.........."},
	};
	struct response response = full();

	(void)state;
	assert_int_equal(ARRAY_SIZE(rows), COMMAND_COUNT);
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		json_auto_t *answer = response_build(command_from_name(rows[r].command), &response);
		size_t expected = 2;

		assert_true(json_is_true(json_object_get(answer, "ok")));
		assert_string_equal(json_string_value(json_object_get(answer, "backend")), "qemu");
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
			const char *value = json_string_value(json_object_get(answer, keys[k]));

			if (rows[r].blocks[k] == '.') {
				assert_null(value);
				continue;
			}
			expected++;
			assert_non_null(value);
			assert_string_equal(value, keys[k]);
		}
		assert_int_equal(json_object_size(answer), expected);
	}
	response_free(&response);
}

static void absent_blocks_are_left_out(void **state)
{
	struct response response = {.backend = "qemu", .event = json_object()};
	json_auto_t *answer = response_build(COMMAND_INSPECT, &response);

	(void)state;
	assert_json(answer, "{\"ok\":true,\"backend\":\"qemu\",\"event\":{}}");
	response_free(&response);
	assert_null(response.event);
	response_free(&response);
}

static void events(void **state)
{
	json_auto_t *identity = json_pack("{s:s}", "runtimeID", "a");
	json_auto_t *plain = event_json(identity, STATE_PREPARED, NULL, "2026-05-02T00:00:00Z");
	json_auto_t *detailed = event_json(identity, STATE_FAILED, "boot\xff", "t");
	json_auto_t *wrong = event_json(identity, STATE_COUNT, NULL, "t");

	(void)state;
	json_object_set_new(identity, "runtimeID", json_string("changed later"));
	assert_json(plain, "{\"identity\":{\"runtimeID\":\"a\"},\"state\":\"prepared\","
			   "\"observedAt\":\"2026-05-02T00:00:00Z\"}");
	assert_json(detailed, "{\"identity\":{\"runtimeID\":\"a\"},\"state\":\"failed\","
			      "\"detail\":\"boot\xef\xbf\xbd\",\"observedAt\":\"t\"}");
	assert_null(wrong);
}

static void signals(void **state)
{
	json_auto_t *bare = readiness_signal(false, NULL, NULL, NULL);
	json_auto_t *whole = readiness_signal(true, "t", "d", "e");

	(void)state;
	assert_json(bare, "{\"ready\":false}");
	assert_json(whole,
		    "{\"ready\":true,\"observedAt\":\"t\",\"detail\":\"d\",\"error\":\"e\"}");
}

static void failures(void **state)
{
	struct error error = {.code = ERR_CONFLICT, .msg = "it \"is\" running \xc3"};
	json_auto_t *event = json_object();
	json_auto_t *bare = response_failure("qemu", NULL, &error);
	json_auto_t *with_event = response_failure("qemu", event, &error);

	(void)state;
	assert_json(bare, "{\"ok\":false,\"backend\":\"qemu\",\"error\":\"it \\\"is\\\" running "
			  "\xef\xbf\xbd\",\"errorCode\":\"conflict\"}");
	assert_json(with_event,
		    "{\"ok\":false,\"backend\":\"qemu\",\"event\":{},\"error\":"
		    "\"it \\\"is\\\" running \xef\xbf\xbd\",\"errorCode\":\"conflict\"}");
}

static void exit_codes(void **state)
{
	static const int expected[] = {
		[ERR_NONE] = 0,	    [ERR_INVALID] = 1,	   [ERR_NOT_FOUND] = 1,
		[ERR_CONFLICT] = 1, [ERR_UNSUPPORTED] = 1, [ERR_UNAVAILABLE] = 75,
		[ERR_TIMEOUT] = 75, [ERR_DENIED] = 1,	   [ERR_IO] = 1,
		[ERR_INTERNAL] = 1,
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(expected), ERROR_CODE_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct error error = {.code = (enum error_code)i};

		assert_int_equal(response_exit_code(&error), expected[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_by_command),
		cmocka_unit_test(absent_blocks_are_left_out),
		cmocka_unit_test(events),
		cmocka_unit_test(signals),
		cmocka_unit_test(failures),
		cmocka_unit_test(exit_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
