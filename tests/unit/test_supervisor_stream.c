/* SPDX-License-Identifier: MIT */
/* Tests the control stream in a loop, with a guest that may be hostile. */
#include "test_supervisor_stream.h"

#include <stdlib.h>

#include "base/clock.h"

#define HELLO "{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":1}}"
#define READY "{\"type\":\"ready\"}"
#define MOUNTED "{\"type\":\"mounted\"}"
#define QUIESCED "{\"type\":\"quiesced\"}"
#define SETTLED "{\"type\":\"settled\"}"
#define RESULT "{\"type\":\"result\"}"

static void on_hello(void *data, const struct control_hello *hello)
{
	struct stage *stage = data;

	stage->hellos++;
	stage->restored = hello->restored;
}

static void on_ready(void *data)
{
	((struct stage *)data)->readies++;
}

static int on_result(void *data, const json_t *message, struct error *err)
{
	struct stage *stage = data;

	assert_non_null(message);
	stage->results++;
	return stage->refuse_result ? error_set(err, ERR_INVALID, "a bad result") : 0;
}

static int on_said(void *data, enum control_type type, const json_t *message, struct error *err)
{
	struct stage *stage = data;
	json_auto_t *facts = type == CONTROL_TELEMETRY	 ? NULL
			     : type == CONTROL_EXEC_LOST ? control_read_lost(message, err)
							 : control_read_exec(message, type, err);

	stage->said++;
	return facts || type == CONTROL_TELEMETRY ? 0 : -1;
}

static void on_mounted(void *data, const char *why)
{
	struct stage *stage = data;

	stage->mounts++;
	snprintf(stage->why, sizeof(stage->why), "%s", why ? why : "");
}

static void on_quiesced(void *data, const char *why)
{
	struct stage *stage = data;

	stage->quiescings++;
	snprintf(stage->why, sizeof(stage->why), "%s", why ? why : "");
}

static void on_settled(void *data, const char *why)
{
	struct stage *stage = data;

	assert_null(why);
	stage->settlings++;
}

static void on_lost(void *data, bool broken, const char *why)
{
	struct stage *stage = data;

	stage->losses++;
	stage->broken = broken;
	snprintf(stage->why, sizeof(stage->why), "%s", why);
}

static void open_stream(struct stage *stage, bool workload)
{
	const struct control_stream_events events = {.hello = on_hello,
						     .ready = on_ready,
						     .result = on_result,
						     .said = on_said,
						     .mounted = on_mounted,
						     .quiesced = on_quiesced,
						     .settled = on_settled,
						     .lost = on_lost,
						     .data = stage};
	json_auto_t *config = json_pack("{s:s}", "type", "config");
	struct error err = {0};
	int listener = sock_listen_at(stage->scratch->fd, "control", &err);

	assert_true(listener >= 0);
	stage->stream = control_stream_new(stage->loop, listener, config, workload, &events,
					   &stage->log, &err);
	assert_non_null(stage->stream);
	stage->guest = sock_connect_at(stage->scratch->fd, "control", &err);
	assert_true(stage->guest >= 0);
	settle_down(stage);
}

static void say(struct stage *stage, const char *text)
{
	struct buf out = {0};
	struct error err = {0};

	assert_ok(frame_append(&out, text, strlen(text), &err));
	assert_ok(fd_write_all(stage->guest, buf_bytes(&out), out.len, &err));
	buf_free(&out);
	settle_down(stage);
}

/* Returns what the guest has received so far, as text with its frame headers. */
static ssize_t heard(struct stage *stage, char *text, size_t size)
{
	ssize_t n = recv(stage->guest, text, size, MSG_DONTWAIT);

	return n < 0 ? 0 : n;
}

static void in_order(void **state)
{
	struct stage *stage = *state;
	char text[256] = "";

	open_stream(stage, true);
	assert_int_equal(heard(stage, text, sizeof(text)), 0); /* nothing before its hello */
	say(stage, HELLO);
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_non_null(memmem(text, sizeof(text), "realtimeNs", 10));
	assert_false(control_stream_is_ready(stage->stream));
	control_stream_push_time(stage->stream);
	assert_int_equal(heard(stage, text, sizeof(text)), 0);
	say(stage, READY);
	assert_true(control_stream_is_ready(stage->stream));
	control_stream_push_time(stage->stream);
	assert_true(heard(stage, text, sizeof(text)) > 4);
	say(stage, "{\"type\":\"something-new\"}");
	say(stage, RESULT);
	assert_true(control_stream_is_ready(stage->stream));
	control_stream_power_off(stage->stream);
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_int_equal(stage->hellos + stage->readies + stage->results, 3);
	assert_int_equal(stage->losses, 0);
	shutdown(stage->guest, SHUT_RDWR);
	settle_down(stage);
	assert_int_equal(stage->losses, 1);
	assert_false(stage->broken);
	assert_false(control_stream_is_ready(stage->stream));
	control_stream_power_off(stage->stream);
	assert_int_equal(stage->losses, 1);
}

static void byte_by_byte_and_all_at_once(void **state)
{
	struct stage *stage = *state;
	struct buf out = {0};
	struct error err = {0};

	open_stream(stage, true);
	assert_ok(frame_append(&out, HELLO, strlen(HELLO), &err));
	for (size_t i = 0; i < out.len; i++) {
		assert_int_equal(stage->hellos, 0);
		assert_int_equal(send(stage->guest, buf_bytes(&out) + i, 1, 0), 1);
		settle_down(stage);
	}
	assert_int_equal(stage->hellos, 1);
	buf_free(&out);
	assert_ok(frame_append(&out, READY, strlen(READY), &err));
	assert_ok(frame_append(&out, RESULT, strlen(RESULT), &err));
	assert_ok(fd_write_all(stage->guest, buf_bytes(&out), out.len, &err));
	settle_down(stage);
	assert_int_equal(stage->results, 1);
	buf_free(&out);
}

static void a_mount_and_its_answers(void **state)
{
	struct stage *stage = *state;
	json_auto_t *share = json_pack("[{s:s, s:s, s:s, s:s}]", "tag", "t", "path", "/host",
				       "mountpoint", "/m", "mode", "ro");
	struct error err = {0};
	char text[512] = "";

	open_stream(stage, false);
	say(stage, HELLO);
	assert_int_equal(control_stream_mount(stage->stream, share, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	say(stage, READY);
	heard(stage, text, sizeof(text));
	memset(text, 0, sizeof(text));
	assert_ok(control_stream_mount(stage->stream, share, &err));
	assert_int_equal(control_stream_mount(stage->stream, share, &err), -1);
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_non_null(strstr(text + 4, "\"mountpoint\":\"/m\""));
	assert_null(strstr(text + 4, "/host")); /* no business of a guest */
	say(stage, "{\"type\":\"mounted\",\"error\":\"no\"}");
	assert_string_equal(stage->why, "no");
	assert_ok(control_stream_mount(stage->stream, share, &err));
	say(stage, MOUNTED);
	assert_int_equal(stage->mounts, 2);
	assert_string_equal(stage->why, "");
	assert_int_equal(stage->losses, 0);
	say(stage, MOUNTED);
	assert_int_equal(stage->losses, 1);
	assert_true(stage->broken);
}

static void a_template_gets_ready_to_be_saved(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	char text[512] = "";

	open_stream(stage, false);
	say(stage, HELLO);
	assert_false(stage->restored);
	assert_int_equal(control_stream_quiesce(stage->stream, false, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	say(stage, READY);
	heard(stage, text, sizeof(text));
	memset(text, 0, sizeof(text));
	assert_ok(control_stream_quiesce(stage->stream, false, &err));
	/* If it is asked again before it has answered, it is not told again. */
	assert_ok(control_stream_quiesce(stage->stream, false, &err));
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_non_null(strstr(text + 4, "\"type\":\"quiesce\""));
	say(stage, "{\"type\":\"quiesced\",\"error\":\"a command runs\"}");
	assert_string_equal(stage->why, "a command runs");
	assert_ok(control_stream_quiesce(stage->stream, false, &err));
	say(stage, QUIESCED);
	assert_int_equal(stage->quiescings, 2);
	assert_string_equal(stage->why, "");
	assert_int_equal(stage->losses, 0);
	say(stage, QUIESCED);
	assert_int_equal(stage->losses, 1);
	assert_true(stage->broken);
}

/* The time is what lets the guest's commands go on. */
static void a_guest_that_rests_is_not_told_the_time(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	char text[512] = "";

	open_stream(stage, false);
	say(stage, HELLO);
	say(stage, READY);
	control_stream_go_on(stage->stream);
	heard(stage, text, sizeof(text));
	assert_ok(control_stream_quiesce(stage->stream, true, &err));
	assert_true(heard(stage, text, sizeof(text)) > 4);
	/* It may be on its way to rest, and must be let go when it is there. */
	control_stream_go_on(stage->stream);
	control_stream_push_time(stage->stream);
	assert_int_equal(heard(stage, text, sizeof(text)), 0);
	say(stage, QUIESCED);
	control_stream_push_time(stage->stream);
	assert_int_equal(heard(stage, text, sizeof(text)), 0);
	memset(text, 0, sizeof(text));
	control_stream_go_on(stage->stream);
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_non_null(strstr(text + 4, "\"type\":\"time\""));
	control_stream_go_on(stage->stream);
	assert_int_equal(heard(stage, text, sizeof(text)), 0);
	control_stream_push_time(stage->stream);
	assert_true(heard(stage, text, sizeof(text)) > 4);
}

static void a_guest_tells_the_rest(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	char text[512] = "";

	open_stream(stage, false);
	assert_int_equal(control_stream_settle(stage->stream, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	say(stage, HELLO);
	say(stage, READY);
	heard(stage, text, sizeof(text));
	memset(text, 0, sizeof(text));
	assert_ok(control_stream_settle(stage->stream, &err));
	assert_true(heard(stage, text, sizeof(text)) > 4);
	assert_non_null(strstr(text + 4, "\"type\":\"settle\""));
	say(stage, SETTLED);
	assert_int_equal(stage->settlings, 1);
	assert_int_equal(stage->losses, 0);
	say(stage, SETTLED);
	assert_int_equal(stage->losses, 1);
	assert_true(stage->broken);
}

static void a_guest_that_was_restored(void **state)
{
	struct stage *stage = *state;

	open_stream(stage, false);
	say(stage, "{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":1},\"restored\":true}");
	assert_true(stage->restored);
	say(stage, READY);
	assert_int_equal(stage->readies, 1);
}

static void out_of_turn(void **state)
{
	static const char *const orders[][4] = {
		{READY},
		{RESULT},
		{HELLO, HELLO},
		{HELLO, RESULT},
		{HELLO, READY, READY},
		{HELLO, READY, HELLO},
		{HELLO, READY, RESULT, RESULT},
		{HELLO, READY, "[]"},
		{HELLO, READY, MOUNTED},
		{HELLO, QUIESCED},
		{HELLO, READY, QUIESCED},
		{"{\"type\":\"hello\",\"protocol\":{\"min\":1,\"max\":1},\"restored\":1}"},
		{HELLO, READY, "{\"type\":\"result\"} {}"},
		{"{\"type\":\"hello\",\"protocol\":{\"min\":2,\"max\":2}}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		void *made = NULL;
		struct stage *stage;

		(void)state;
		assert_int_equal(stage_make(&made), 0);
		stage = made;
		open_stream(stage, true);
		for (size_t j = 0; j < 4 && orders[i][j]; j++) {
			if (stage->losses)
				fail_msg("order %zu broke at %zu: %s", i, j, stage->why);
			say(stage, orders[i][j]);
		}
		if (stage->losses != 1 || !stage->broken)
			fail_msg("order %zu was taken", i);
		stage_drop(&made);
	}
}

static void a_result_without_a_workload(void **state)
{
	struct stage *stage = *state;

	open_stream(stage, false);
	say(stage, HELLO);
	say(stage, READY);
	say(stage, RESULT);
	assert_int_equal(stage->results, 0);
	assert_true(stage->broken);
}

static void a_result_that_is_refused(void **state)
{
	struct stage *stage = *state;

	open_stream(stage, true);
	stage->refuse_result = true;
	say(stage, HELLO);
	say(stage, READY);
	say(stage, RESULT);
	assert_true(stage->broken);
	assert_string_equal(stage->why, "a bad result");
}

static void announce(struct stage *stage, uint32_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, len);
	assert_int_equal(send(stage->guest, header, sizeof(header), MSG_NOSIGNAL), 4);
	settle_down(stage);
}

static void frames_that_are_too_long(void **state)
{
	static const uint32_t early[] = {0, CONTROL_SMALL_MAX + 1, FRAME_MAX, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
		void *made = NULL;
		struct stage *stage;

		assert_int_equal(stage_make(&made), 0);
		stage = made;
		open_stream(stage, true);
		announce(stage, early[i]);
		assert_true(stage->broken);
		stage_drop(&made);
	}
}

static void a_result_may_be_long(void **state)
{
	struct stage *stage = *state;

	open_stream(stage, true);
	say(stage, HELLO);
	say(stage, READY);
	announce(stage, (uint32_t)control_result_max());
	assert_int_equal(stage->losses, 0);
	shutdown(stage->guest, SHUT_RDWR);
	settle_down(stage);
	assert_int_equal(stage->losses, 1);
}

static void what_a_guest_says_of_itself(void **state)
{
	static const char *const good[] = {
		"{\"type\":\"exec-started\",\"exec\":1,\"argv\":[\"a\",\"\"],\"user\":\"u\"}",
		"{\"type\":\"exec-finished\",\"exec\":1,\"code\":255,\"elapsedMs\":0,\"new\":1}",
		"{\"type\":\"telemetry\",\"records\":[{\"a\":[1,2]}]}",
		"{\"type\":\"exec-lost\",\"lost\":3}",
	};
	struct stage *stage = *state;
	char text[16384], commas[8192];

	open_stream(stage, true);
	say(stage, HELLO);
	say(stage, READY);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		say(stage, good[i]);
	/* In a text these bytes have no meaning. */
	memset(commas, ',', sizeof(commas));
	snprintf(text, sizeof(text),
		 "{\"type\":\"exec-started\",\"exec\":1,\"argv\":[\"\\\"[{%.*s\"]}", 8000, commas);
	say(stage, text);
	assert_int_equal(stage->said, 5);
	assert_int_equal(stage->losses, 0);
	say(stage, RESULT);
	say(stage, good[1]); /* behind the result too */
	assert_int_equal(stage->said, 6);
	say(stage, "{\"type\":\"exec-finished\",\"exec\":1,\"code\":256,\"elapsedMs\":0}");
	assert_int_equal(stage->losses, 1);
	assert_true(stage->broken);
}

static void a_guest_that_says_it_too_early(void **state)
{
	struct stage *stage = *state;

	open_stream(stage, true);
	say(stage, HELLO);
	say(stage, "{\"type\":\"exec-started\",\"exec\":1,\"argv\":[\"a\"]}");
	assert_int_equal(stage->said, 0);
	assert_int_equal(stage->losses, 1);
	assert_non_null(strstr(stage->why, "a report before it was ready"));
}

static void the_second_connection_is_refused(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};

	open_stream(stage, true);
	assert_int_equal(sock_connect_at(stage->scratch->fd, "control", &err), -1);
	say(stage, HELLO);
	assert_int_equal(stage->hellos, 1);
}

static void a_guest_that_does_not_read(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	char text[65536];
	size_t total = 0;
	ssize_t n;

	open_stream(stage, true);
	say(stage, HELLO);
	say(stage, READY);
	/* Far more than a socket holds: from some time on they are left out. */
	for (int i = 0; i < 100000; i++)
		control_stream_push_time(stage->stream);
	control_stream_power_off(stage->stream);
	assert_int_equal(stage->losses, 0);
	while ((n = heard(stage, text, sizeof(text))) > 0) {
		total += (size_t)n;
		assert_true(loop_once(stage->loop, 0, &err) >= 0);
	}
	assert_true(total < 2 << 20);
	assert_non_null(memmem(text, sizeof(text), "power", 5));
}

/* A guest that has stood still gets the present time after the messages that were sent
 * meanwhile. */
static void a_guest_that_reads_late_has_the_right_time(void **state)
{
	static const char key[] = "\"realtimeNs\":";
	struct stage *stage = *state;
	struct error err = {0};
	char text[65536];
	int64_t late, last = 0;
	ssize_t n;

	open_stream(stage, true);
	say(stage, HELLO);
	say(stage, READY);
	for (int i = 0; i < 100000; i++)
		control_stream_push_time(stage->stream);
	late = clock_real_ns();
	/* Each piece that is read may begin anywhere in a message. */
	while ((n = heard(stage, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		for (ssize_t i = 0; i + (ssize_t)sizeof(key) <= n; i++)
			if (memcmp(text + i, key, sizeof(key) - 1) == 0)
				last = strtoll(text + i + sizeof(key) - 1, NULL, 10);
		assert_true(loop_once(stage->loop, 0, &err) >= 0);
	}
	assert_true(last >= late && last <= clock_real_ns());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(in_order),
		stage_test(byte_by_byte_and_all_at_once),
		cmocka_unit_test(out_of_turn),
		stage_test(a_mount_and_its_answers),
		stage_test(a_template_gets_ready_to_be_saved),
		stage_test(a_guest_that_rests_is_not_told_the_time),
		stage_test(a_guest_tells_the_rest),
		stage_test(a_guest_that_was_restored),
		stage_test(a_result_without_a_workload),
		stage_test(a_result_that_is_refused),
		cmocka_unit_test(frames_that_are_too_long),
		stage_test(a_result_may_be_long),
		stage_test(what_a_guest_says_of_itself),
		stage_test(a_guest_that_says_it_too_early),
		stage_test(the_second_connection_is_refused),
		stage_test(a_guest_that_does_not_read),
		stage_test(a_guest_that_reads_late_has_the_right_time),
	};

	return cmocka_run_group_tests_name("supervisor streams", tests, NULL, NULL);
}
