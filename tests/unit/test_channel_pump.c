/* SPDX-License-Identifier: MIT */
/* Tests what passes through the pump: bytes both ways, keys and sizes of a terminal, signals. */
#include "pump_fixture.h"

#define BIG (3u * 1024 * 1024 + 17)

/* Echoes stdin to stdout until its end, then exits with 5. */
static void *echo_guest(void *data)
{
	const struct rig *rig = data;
	static uint8_t payload[FRAME_MAX];
	size_t len;
	uint8_t type;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	while ((type = guest_read(rig->guest, payload, sizeof(payload), &len)) == 1)
		guest_data(rig->guest, 2, payload + 9, len - 9);
	guest_data(rig->guest, 3, "done", 4);
	guest_json(rig->guest, type == '{' ? "{\"event\":\"exit\",\"request\":1,\"exitCode\":5}"
					   : "{\"event\":\"exit\",\"request\":1,\"exitCode\":6}");
	return NULL;
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7);
}

static void *feed_stdin(void *data)
{
	struct rig *rig = data;
	autofree uint8_t *bytes = malloc(BIG);

	for (size_t i = 0; i < BIG; i++)
		bytes[i] = pattern(i);
	fd_write_all(rig->in[1], bytes, BIG, NULL);
	close_one(&rig->in[1]);
	return NULL;
}

static void test_megabytes_both_ways(void **state)
{
	struct rig rig;
	pthread_t guest, feeder, pump;
	struct buf got = BUF_INIT(0);

	(void)state;
	rig_open(&rig, 0);
	pthread_create(&guest, NULL, echo_guest, &rig);
	pthread_create(&feeder, NULL, feed_stdin, &rig);
	pthread_create(&pump, NULL, run_pump, &rig);
	assert_int_equal(fd_read_to_end(rig.out[0], &got, NULL), 0);
	pthread_join(pump, NULL);
	pthread_join(feeder, NULL);
	pthread_join(guest, NULL);
	assert_int_equal(rig.error.code, ERR_NONE);
	assert_int_equal(rig.outcome.end, MICROAGENT_EXITED);
	assert_int_equal(rig.outcome.exit_code, 5);
	assert_int_equal(got.len, BIG);
	for (size_t i = 0; i < BIG; i++) {
		if (buf_bytes(&got)[i] != pattern(i))
			fail_msg("byte %zu differs", i);
	}
	buf_free(&got);
	rig_close(&rig);
}

static void test_files_as_streams(void **state)
{
	struct rig rig;
	pthread_t guest;
	char name[] = "/tmp/test_channel_pump.XXXXXX";
	char got[8] = "";
	int file = mkstemp(name);

	(void)state;
	assert_true(file >= 0);
	unlink(name);
	assert_int_equal(fd_write_all(file, "words\n", 6, NULL), 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	rig_open(&rig, 0);
	close_one(&rig.in[0]);
	rig.in[0] = file;
	pthread_create(&guest, NULL, echo_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	pthread_join(guest, NULL);
	assert_int_equal(rig.outcome.exit_code, 5);
	assert_int_equal(read(rig.out[0], got, sizeof(got)), 6);
	assert_memory_equal(got, "words\n", 6);
	rig_close(&rig);
}

static void test_a_small_connection_does_not_deadlock(void **state)
{
	struct rig rig;
	pthread_t guest, feeder, pump;
	struct buf got = BUF_INIT(0);

	(void)state;
	rig_open(&rig, 4096);
	pthread_create(&guest, NULL, echo_guest, &rig);
	pthread_create(&feeder, NULL, feed_stdin, &rig);
	pthread_create(&pump, NULL, run_pump, &rig);
	assert_int_equal(fd_read_to_end(rig.out[0], &got, NULL), 0);
	pthread_join(pump, NULL);
	pthread_join(feeder, NULL);
	pthread_join(guest, NULL);
	assert_int_equal(got.len, BIG);
	buf_free(&got);
	rig_close(&rig);
}

static void fixed_size(void *data, uint16_t *rows, uint16_t *columns)
{
	const int *resized = data;
	char byte;

	assert_int_equal(read(*resized, &byte, 1), 1);
	*rows = 50;
	*columns = 140;
}

/* Waits for the new size and for the typed text, then prints something, which is the cue. */
static void *terminal_guest(void *data)
{
	const struct rig *rig = data;
	static uint8_t payload[FRAME_MAX];
	bool resized = false, typed = false;
	size_t len = 0;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	while (!resized || !typed) {
		uint8_t type = guest_read(rig->guest, payload, sizeof(payload) - 1, &len);

		payload[len] = '\0';
		assert_int_not_equal(type, 0);
		typed = typed || type == 1;
		if (type == '{' && strstr((char *)payload, "\"resize\"")) {
			assert_non_null(strstr((char *)payload, "\"rows\":50"));
			assert_non_null(strstr((char *)payload, "\"cols\":140"));
			resized = true;
		}
	}
	fd_write_all(rig->in[1], "gone\x1d", 5, NULL);
	return NULL;
}

static void test_a_terminal_is_resized_and_detached_from(void **state)
{
	struct rig rig;
	pthread_t guest;
	int resized[2];

	(void)state;
	rig_open(&rig, 0);
	assert_int_equal(fd_pipe(resized, NULL), 0);
	const struct microagent_terminal terminal = {
		.resized = resized[0], .size = fixed_size, .data = &resized[0], .escape = 0x1d};

	rig.terminal = &terminal;
	pthread_create(&guest, NULL, terminal_guest, &rig);
	fd_write_all(resized[1], "x", 1, NULL);
	fd_write_all(rig.in[1], "typed", 5, NULL);
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(rig.outcome.end, MICROAGENT_DETACHED);
	pthread_join(guest, NULL);
	close(resized[0]);
	close(resized[1]);
	rig_close(&rig);
}

/* Prints the signals that it gets, until it is cancelled. */
static void *signalled_guest(void *data)
{
	struct rig *rig = data;
	static uint8_t payload[FRAME_MAX];
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	while (guest_read(rig->guest, payload, sizeof(payload), &len) == '{') {
		if (memmem(payload, len, "\"cancel\"", 8))
			break;
		guest_data(rig->guest, memmem(payload, len, ":10", 3) ? 2 : 3, payload, len);
	}
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":137,\"signal\":9,"
			       "\"killed\":true}");
	return NULL;
}

/* A byte of the pipe is a signal; 99 is the wish to end it. */
static int next_signal(void *data)
{
	uint8_t byte;

	if (read(*(int *)data, &byte, 1) != 1)
		return 0;
	return byte == 99 ? MICROAGENT_SIGNAL_END : byte;
}

struct taken {
	size_t out, err;
	int next; /* the write end of the signals' pipe: each output asks for the next one */
};

static void take(void *data, bool is_stderr, const void *bytes, size_t len)
{
	struct taken *taken = data;
	uint8_t byte = is_stderr ? 99 : 12;

	assert_non_null(memmem(bytes, len, "\"signal\"", 8));
	*(is_stderr ? &taken->err : &taken->out) += 1;
	assert_int_equal(write(taken->next, &byte, 1), 1);
}

static void test_signals_reach_the_guest_and_output_a_sink(void **state)
{
	struct rig rig;
	pthread_t guest;
	int ends[2];
	struct taken taken = {0};

	(void)state;
	rig_open(&rig, 0);
	assert_int_equal(fd_pipe(ends, NULL), 0);
	const struct microagent_signals signals = {ends[0], next_signal, &ends[0]};
	const struct microagent_sink sink = {take, &taken};

	taken.next = ends[1];
	rig.signals = &signals;
	rig.sink = &sink;
	assert_int_equal(write(ends[1], "\x0a", 1), 1);
	pthread_create(&guest, NULL, signalled_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	pthread_join(guest, NULL);
	assert_int_equal(rig.outcome.end, MICROAGENT_CANCELLED);
	assert_int_equal(rig.outcome.signal, 9);
	assert_int_equal(taken.out, 1);
	assert_int_equal(taken.err, 1);
	close(ends[0]);
	close(ends[1]);
	rig_close(&rig);
}

/* A caller that waited for the start of a command has read from the socket what came with it. */
static void test_what_came_before_the_pump(void **state)
{
	struct rig rig;
	struct call_item item = {0};
	char got[8] = "";

	(void)state;
	rig_open(&rig, 0);
	assert_int_equal(connection_send(&rig.connection, NULL), 0);
	guest_json(rig.guest, start);
	guest_data(rig.guest, 2, "words", 5);
	guest_json(rig.guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":4}");
	while (!rig.call.started) {
		assert_int_equal(connection_receive(&rig.connection, NULL), 0);
		assert_true(calls_next(&rig.connection.calls, &item, NULL) >= 0);
	}
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(rig.outcome.exit_code, 4);
	assert_int_equal(read(rig.out[0], got, sizeof(got)), 5);
	assert_string_equal(got, "words");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_megabytes_both_ways),
		cmocka_unit_test(test_files_as_streams),
		cmocka_unit_test(test_what_came_before_the_pump),
		cmocka_unit_test(test_a_small_connection_does_not_deadlock),
		cmocka_unit_test(test_a_terminal_is_resized_and_detached_from),
		cmocka_unit_test(test_signals_reach_the_guest_and_output_a_sink),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
