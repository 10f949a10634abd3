/* SPDX-License-Identifier: MIT */
/* Tests the kernel's audit records, from their text to the messages for the host. */
#include <jansson.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/trace/kaudit_event.h"
#include "guest/trace/kaudit_text.h"
#include "guest/trace/telemetry_batch.h"

#define STAMP(serial) "audit(1700000000.250:" #serial "): "
#define CALL(serial, key, more)                                                              \
	STAMP(serial)                                                                        \
	"arch=c000003e syscall=59 success=yes exit=0 a0=ffffff9c a1=41 a2=241 a3=0 items=2 " \
	"ppid=10 pid=11 auid=1000 uid=1000 gid=1000 tty=(none) ses=1 comm=\"pid=99\" "       \
	"exe=\"/bin/thing\" " more " key=\"" key "\""

/* The JSON texts from a row of records. */
struct told {
	struct kaudit_events events;
	json_t *records;
};

static void on_done(void *data, const struct kaudit_event *event)
{
	autofree char *text = telemetry_record(event);
	json_t *record = json_loads(text, 0, NULL);

	assert_non_null(record);
	if (telemetry_is_of_interest(event))
		json_array_append(((struct told *)data)->records, record);
	json_decref(record);
}

static int start(void **state)
{
	struct told *told = calloc(1, sizeof(*told));

	told->events.done = on_done;
	told->events.data = told;
	told->records = json_array();
	*state = told;
	return 0;
}

static int end(void **state)
{
	struct told *told = *state;

	kaudit_events_free(&told->events);
	json_decref(told->records);
	free(told);
	return 0;
}

static void take(struct told *told, unsigned type, const char *text)
{
	kaudit_events_take(&told->events, type, text, strlen(text));
}

static const char *text_of(const struct told *told, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(told->records, i), key));
}

static json_int_t number_of(const struct told *told, size_t i, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(told->records, i), key));
}

static void an_exec_in_all_its_parts(void **state)
{
	struct told *told = *state;
	const json_t *argv;

	take(told, AUDIT_SYSCALL, CALL(7, "exec", ""));
	take(told, AUDIT_EXECVE,
	     STAMP(7) "argc=5 a0=\"sh\" a1=6120620A a2=\"\" a3_len=6 a3[0]=\"abc\" a3[1]=FF2264");
	take(told, AUDIT_EXECVE, STAMP(7) " a4=\"last\"");
	take(told, AUDIT_CWD, STAMP(7) "cwd=\"/home\"");
	take(told, AUDIT_PATH,
	     STAMP(7) "item=0 name=\"/bin/sh\" inode=1 dev=fe:00 mode=0100755 "
		      "nametype=NORMAL");
	assert_int_equal(json_array_size(told->records), 0);
	take(told, AUDIT_EOE, STAMP(7));
	assert_int_equal(json_array_size(told->records), 1);
	assert_string_equal(text_of(told, 0, "kind"), "exec");
	assert_string_equal(text_of(told, 0, "at"), "2023-11-14T22:13:20.250Z");
	assert_string_equal(text_of(told, 0, "exe"), "/bin/thing");
	assert_int_equal(number_of(told, 0, "pid"), 11);
	assert_int_equal(number_of(told, 0, "ppid"), 10);
	assert_int_equal(number_of(told, 0, "uid"), 1000);
	argv = json_object_get(json_array_get(told->records, 0), "argv");
	assert_int_equal(json_array_size(argv), 5);
	assert_string_equal(json_string_value(json_array_get(argv, 0)), "sh");
	assert_string_equal(json_string_value(json_array_get(argv, 1)), "a b\n");
	assert_string_equal(json_string_value(json_array_get(argv, 2)), "");
	assert_string_equal(json_string_value(json_array_get(argv, 3)), "abc\xef\xbf\xbd\"d");
	assert_string_equal(json_string_value(json_array_get(argv, 4)), "last");
	assert_null(json_object_get(json_array_get(told->records, 0), "truncated"));
}

static void long_arguments_are_cut(void **state)
{
	struct told *told = *state;
	autofree char *chunk = malloc(8000);
	const json_t *argv;

	memset(chunk, 'x', 7999);
	chunk[7999] = '\0';
	take(told, AUDIT_SYSCALL, CALL(8, "exec", ""));
	for (int i = 0; i < 25; i++) {
		char text[8200];

		snprintf(text, sizeof(text), STAMP(8) "%s a1[%d]=\"%s\"",
			 i ? "" : "argc=3 a0=\"e\" a1_len=199975", i, chunk);
		take(told, AUDIT_EXECVE, text);
	}
	take(told, AUDIT_EXECVE, STAMP(8) " a2=\"never\"");
	take(told, AUDIT_EOE, STAMP(8));
	argv = json_object_get(json_array_get(told->records, 0), "argv");
	assert_int_equal(json_array_size(argv), 2);
	assert_in_range(json_string_length(json_array_get(argv, 1)), 32000, KAUDIT_ARGV_BYTES);
	assert_int_equal(number_of(told, 0, "argc"), 3);
	assert_true(json_is_true(json_object_get(json_array_get(told->records, 0), "truncated")));
}

/* A record was dropped on the way: no other word replaces it. */
static void a_gap_in_the_arguments(void **state)
{
	struct told *told = *state;

	take(told, AUDIT_SYSCALL, CALL(9, "exec", ""));
	take(told, AUDIT_EXECVE, STAMP(9) "argc=4 a0=\"a\"");
	take(told, AUDIT_EXECVE, STAMP(9) " a2=\"c\" a3=\"d\"");
	take(told, AUDIT_EOE, STAMP(9));
	assert_int_equal(json_array_size(json_object_get(json_array_get(told->records, 0), "argv")),
			 1);
	assert_true(json_is_true(json_object_get(json_array_get(told->records, 0), "truncated")));
	take(told, AUDIT_SYSCALL, CALL(10, "exec", ""));
	take(told, AUDIT_EOE, STAMP(10));
	assert_int_equal(json_array_size(told->records), 1);
	assert_int_equal(told->events.lost, 1);
}

static void opens_and_their_paths(void **state)
{
	static const struct {
		const char *key, *path, *cwd, *expected;
	} cases[] = {{"openat", "\"f\"", "\"/work\"", "/work/f"},
		     {"openat", "\"f\"", "\"/\"", "/f"},
		     {"openat", "\"/abs\"", "\"/work\"", "/abs"},
		     {"open", "6120FF", "\"/w\"", "/w/a \xef\xbf\xbd"},
		     {"creat", "\"new\"", "\"/w\"", "/w/new"}};
	struct told *told = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[400];

		snprintf(text, sizeof(text), CALL(20, "%s", ""), cases[i].key);
		take(told, AUDIT_SYSCALL, text);
		snprintf(text, sizeof(text), STAMP(20) "cwd=%s", cases[i].cwd);
		take(told, AUDIT_CWD, text);
		take(told, AUDIT_PATH, STAMP(20) "item=0 name=\"/work\" inode=2 nametype=PARENT");
		snprintf(text, sizeof(text),
			 STAMP(20) "item=1 name=%s inode=77 dev=fe:01 mode=0100644 "
				   "nametype=CREATE",
			 cases[i].path);
		take(told, AUDIT_PATH, text);
		take(told, AUDIT_EOE, STAMP(20));
		assert_string_equal(text_of(told, i, "path"), cases[i].expected);
		assert_string_equal(text_of(told, i, "kind"), "open");
	}
}

static void new_files_that_a_directory_refuses(void **state)
{
	static const struct {
		const char *directory, *parent, *expected;
	} cases[] = {{"ffffff9c", "\"/etc/\"", "/etc/"},
		     {"ffffff9c", "\"/work\"", "/work/"},
		     {"ffffff9c", "\"sub/\"", "/work/sub/"},
		     {"3", "\"/work\"", "./"},
		     {"3", "\"sub/\"", "sub/"},
		     {"3", "\"/\"", "/"}};
	struct told *told = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];

		snprintf(text, sizeof(text),
			 STAMP(20) "exit=-13 a0=%s a2=241 pid=7 exe=\"/bin/sh\" key=\"openat\"",
			 cases[i].directory);
		take(told, AUDIT_SYSCALL, text);
		take(told, AUDIT_CWD, STAMP(20) "cwd=\"/work\"");
		snprintf(text, sizeof(text), STAMP(20) "item=0 name=%s inode=2 nametype=PARENT",
			 cases[i].parent);
		take(told, AUDIT_PATH, text);
		take(told, AUDIT_EOE, STAMP(20));
		assert_string_equal(text_of(told, i, "path"), cases[i].expected);
		assert_int_equal(number_of(told, i, "errno"), 13);
	}
	/* The file's own record was dropped on the way. */
	take(told, AUDIT_SYSCALL, CALL(21, "openat", ""));
	take(told, AUDIT_PATH, STAMP(21) "item=0 name=\"/work\" inode=2 nametype=PARENT");
	take(told, AUDIT_EOE, STAMP(21));
	assert_int_equal(json_array_size(told->records), ARRAY_SIZE(cases));
	assert_int_equal(told->events.lost, 1);
}

static void opens_of_other_kinds(void **state)
{
	struct told *told = *state;
	autofree char *flags = NULL;

	/* relative to a directory's descriptor */
	take(told, AUDIT_SYSCALL,
	     STAMP(30) "exit=-13 a0=3 a1=1 a2=2 pid=5 ppid=4 uid=0 exe=\"/x\" key=\"openat\"");
	take(told, AUDIT_CWD, STAMP(30) "cwd=\"/work\"");
	take(told, AUDIT_PATH, STAMP(30) "item=0 name=\"f\" nametype=UNKNOWN");
	take(told, AUDIT_EOE, STAMP(30));
	assert_string_equal(text_of(told, 0, "path"), "f");
	assert_int_equal(number_of(told, 0, "errno"), 13);
	/* flags in a record of their own */
	take(told, AUDIT_SYSCALL, CALL(31, "openat2", ""));
	take(told, AUDIT_OPENAT2, STAMP(31) "oflag=02101 mode=0600 resolve=0x0");
	take(told, AUDIT_PATH, STAMP(31) "item=0 name=\"/f\" mode=0100644 nametype=NORMAL");
	take(told, AUDIT_EOE, STAMP(31));
	flags = json_dumps(json_object_get(json_array_get(told->records, 1), "flags"),
			   JSON_COMPACT);
	assert_string_equal(flags, "[\"write\",\"create\",\"append\"]");
	/* /dev/null */
	take(told, AUDIT_SYSCALL, CALL(32, "openat", ""));
	take(told, AUDIT_PATH, STAMP(32) "item=0 name=\"/dev/null\" mode=020666 nametype=NORMAL");
	take(told, AUDIT_EOE, STAMP(32));
	assert_int_equal(json_array_size(told->records), 2);
}

static void connects(void **state)
{
	struct told *told = *state;

	take(told, AUDIT_SYSCALL,
	     STAMP(40) "exit=-115 a0=3 pid=5 ppid=4 uid=0 exe=(null) key=\"connect\"");
	take(told, AUDIT_SOCKADDR, STAMP(40) "saddr=020001BB5DB8D8220000000000000000");
	take(told, AUDIT_EOE, STAMP(40));
	assert_string_equal(text_of(told, 0, "address"), "93.184.216.34");
	assert_string_equal(text_of(told, 0, "family"), "inet");
	assert_int_equal(number_of(told, 0, "port"), 443);
	assert_int_equal(number_of(told, 0, "errno"), 115);
	take(told, AUDIT_SYSCALL, CALL(41, "connect", ""));
	take(told, AUDIT_SOCKADDR,
	     STAMP(41) "saddr=0A000050000000000000000000000000000000000000000100000000");
	take(told, AUDIT_EOE, STAMP(41));
	assert_string_equal(text_of(told, 1, "address"), "::1");
	assert_int_equal(number_of(told, 1, "port"), 80);
	take(told, AUDIT_SYSCALL, CALL(42, "connect", ""));
	take(told, AUDIT_SOCKADDR, STAMP(42) "saddr=02");
	take(told, AUDIT_EOE, STAMP(42));
	assert_string_equal(text_of(told, 2, "family"), "unknown");
}

static void events_come_mixed(void **state)
{
	struct told *told = *state;

	take(told, AUDIT_SYSCALL, CALL(50, "exec", ""));
	take(told, AUDIT_SYSCALL, CALL(51, "exec", ""));
	take(told, AUDIT_EXECVE, STAMP(51) "argc=1 a0=\"second\"");
	take(told, AUDIT_EXECVE, STAMP(50) "argc=1 a0=\"first\"");
	take(told, AUDIT_EOE, STAMP(50));
	take(told, AUDIT_EXECVE, STAMP(52) "argc=1 a0=\"of no call\"");
	take(told, AUDIT_EOE, STAMP(52));
	assert_int_equal(json_array_size(told->records), 1);
	/* The end of the second one never comes. Its slot is reused, oldest first. */
	for (int i = 0; i < KAUDIT_EVENTS; i++) {
		char text[400];

		snprintf(text, sizeof(text),
			 "audit(1.000:%d): exit=0 pid=1 ppid=1 uid=0 key=\"exec\"", 60 + i);
		take(told, AUDIT_SYSCALL, text);
	}
	assert_int_equal(json_array_size(told->records), 2);
	assert_int_equal(told->events.lost, 0);
	kaudit_events_flush(&told->events);
	assert_int_equal(json_array_size(told->records), 2);
	assert_int_equal(told->events.lost, KAUDIT_EVENTS);
}

static void what_is_no_record(void **state)
{
	static const char *const texts[] = {
		"",
		"audit(",
		"audit(1.2:3)",
		"audit(1.2:x): a=b",
		"audit(99999999999999999999.1:1): a=b",
		"audit(1.1000:1): a=b",
		STAMP(1) "key=\"else\"",
		STAMP(1) "key=(null)",
		STAMP(1) "key=\"",
		STAMP(1) "key=65786563",
	};
	struct told *told = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (unsigned type = AUDIT_SYSCALL; type <= AUDIT_OPENAT2; type++)
			take(told, type, texts[i]);
	kaudit_events_flush(&told->events);
	assert_int_equal(json_array_size(told->records), 0);
	/* The last one is "exec" in another form: the one that was begun. */
	assert_int_equal(told->events.lost, 1);
}

/* Missing numbers are events that never came, when there was time for them to come. */
static void events_that_never_come(void **state)
{
	static const int come[] = {70, 71, 74, 73, 80}; /* not 72, and not 75 to 79 */
	struct told *told = *state;
	char text[80];

	for (size_t i = 0; i < ARRAY_SIZE(come); i++) {
		snprintf(text, sizeof(text),
			 "audit(1.000:%d): exit=0 pid=1 ppid=1 uid=0 key=\"exec\"", come[i]);
		take(told, AUDIT_SYSCALL, text);
	}
	kaudit_events_settle(&told->events);
	assert_int_equal(told->events.lost, 0); /* they may be late */
	take(told, AUDIT_SYSCALL, "audit(1.000:79): exit=0 pid=1 ppid=1 uid=0 key=\"exec\"");
	take(told, AUDIT_SYSCALL, "audit(1.000:82): exit=0 pid=1 ppid=1 uid=0 key=\"exec\"");
	kaudit_events_settle(&told->events);
	assert_int_equal(told->events.lost, 5); /* 72 and 75 to 78 */
	kaudit_events_settle(&told->events);
	assert_int_equal(told->events.lost, 6); /* and 81 */
	kaudit_events_settle(&told->events);
	take(told, AUDIT_SYSCALL, "audit(1.000:81): exit=0 pid=1 ppid=1 uid=0 key=\"exec\"");
	kaudit_events_settle(&told->events);
	assert_int_equal(told->events.lost, 6); /* too late to be taken back */
	kaudit_events_flush(&told->events);
}

static void decoding(void **state)
{
	uint8_t out[4];

	(void)state;
	assert_int_equal(kaudit_decode((struct kaudit_span){"\"abcd\"", 6}, out, 4), 4);
	assert_int_equal(kaudit_decode((struct kaudit_span){"\"abcde\"", 7}, out, 4), -1);
	assert_int_equal(kaudit_decode((struct kaudit_span){"6162636465", 10}, out, 4), -1);
	assert_int_equal(kaudit_decode((struct kaudit_span){"616", 3}, out, 4), -1);
	assert_int_equal(kaudit_decode((struct kaudit_span){"6g", 2}, out, 4), -1);
	assert_int_equal(kaudit_decode((struct kaudit_span){"\"", 1}, out, 4), -1);
	assert_int_equal(kaudit_decode((struct kaudit_span){"\"\"", 2}, out, 4), 0);
	assert_int_equal(kaudit_decode((struct kaudit_span){"(null)", 6}, out, 4), 0);
}

static json_t *message_of(struct telemetry_batch *batch)
{
	autofree char *text = telemetry_batch_message(batch);

	return text ? json_loads(text, 0, NULL) : NULL;
}

static void batches_are_bounded_and_say_what_is_lost(void **state)
{
	struct telemetry_batch batch = {0};
	json_auto_t *first = NULL, *second = NULL;
	autofree char *big = NULL;
	size_t most = 0;

	(void)state;
	limit_set(LIMIT_TELEMETRY_RECORDS, 150);
	clock_set_virtual(NS_PER_S);
	assert_null(telemetry_batch_message(&batch));
	while (telemetry_batch_has_room(&batch, "{}")) {
		telemetry_batch_add(&batch, strdup("{}"));
		most++;
	}
	assert_int_equal(most, TELEMETRY_BATCH_RECORDS);
	first = message_of(&batch);
	assert_int_equal(json_array_size(json_object_get(first, "records")), most);
	assert_null(json_object_get(first, "lost"));
	assert_null(telemetry_batch_message(&batch));
	for (int i = 0; i < 30; i++)
		telemetry_batch_add(&batch, strdup("{}"));
	clock_set_virtual(2 * NS_PER_S);
	telemetry_batch_add(&batch, strdup("{}"));
	telemetry_batch_add(&batch, NULL);
	big = malloc(TELEMETRY_MESSAGE_BYTES);
	memset(big, ' ', TELEMETRY_MESSAGE_BYTES - 1);
	big[TELEMETRY_MESSAGE_BYTES - 1] = '\0';
	assert_false(telemetry_batch_has_room(&batch, big));
	second = message_of(&batch);
	assert_int_equal(json_array_size(json_object_get(second, "records")), 150 - most + 1);
	assert_int_equal(json_integer_value(json_object_get(second, "lost")),
			 30 - (150 - most) + 1);
	assert_true(telemetry_batch_has_room(&batch, big));
	telemetry_batch_free(&batch);
	limit_reset(LIMIT_TELEMETRY_RECORDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_exec_in_all_its_parts, start, end),
		cmocka_unit_test_setup_teardown(long_arguments_are_cut, start, end),
		cmocka_unit_test_setup_teardown(a_gap_in_the_arguments, start, end),
		cmocka_unit_test_setup_teardown(opens_and_their_paths, start, end),
		cmocka_unit_test_setup_teardown(new_files_that_a_directory_refuses, start, end),
		cmocka_unit_test_setup_teardown(opens_of_other_kinds, start, end),
		cmocka_unit_test_setup_teardown(connects, start, end),
		cmocka_unit_test_setup_teardown(events_come_mixed, start, end),
		cmocka_unit_test_setup_teardown(what_is_no_record, start, end),
		cmocka_unit_test_setup_teardown(events_that_never_come, start, end),
		cmocka_unit_test(decoding),
		cmocka_unit_test(batches_are_bounded_and_say_what_is_lost),
	};

	return cmocka_run_group_tests_name("guest kaudit", tests, NULL, NULL);
}
