/* SPDX-License-Identifier: MIT */
/* Bytes between descriptors and a guest; the guest is a thread at the other end of a socket. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/limits.h"
#include "channel/pump.h"

#define BIG (3u * 1024 * 1024 + 17)

static const char start[] = "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}";

struct rig {
	const struct microagent_terminal *terminal;
	int guest; /* the other end of the connection */
	int in[2], out[2], err[2], cancel[2];
	const struct microagent_signals *signals;
	const struct microagent_sink *sink;
	struct microagent_exec exec;
	struct connection connection;
	struct agent_call call;
	struct microagent_outcome outcome;
	struct error error;
};

static void guest_frame(int fd, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, (uint32_t)len);
	if (fd_write_all(fd, header, sizeof(header), NULL) == 0)
		fd_write_all(fd, payload, len, NULL);
}

static void guest_json(int fd, const char *text)
{
	guest_frame(fd, text, strlen(text));
}

static void guest_data(int fd, uint8_t type, const void *bytes, size_t len)
{
	static _Thread_local uint8_t payload[65536 + 9];

	payload[0] = type;
	be64_put(payload + 1, 1);
	memcpy(payload + 9, bytes, len);
	guest_frame(fd, payload, 9 + len);
}

/* One frame of the client; returns its first byte, 0 at the end of the connection. */
static uint8_t guest_read(int fd, uint8_t *payload, size_t room, size_t *len)
{
	uint8_t header[FRAME_HEADER];

	if (fd_read_exact(fd, header, sizeof(header), NULL) < 0)
		return 0;
	*len = be32_get(header);
	if (*len > room || fd_read_exact(fd, payload, *len, NULL) < 0)
		return 0;
	return payload[0];
}

static void rig_open(struct rig *rig, size_t connection_buffer)
{
	static const char *const words[] = {"x", NULL};
	int ends[2], size = (int)connection_buffer;

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(fd_socketpair(ends, NULL), 0);
	if (size)
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	connection_init(&rig->connection);
	rig->connection.fd = ends[0];
	rig->guest = ends[1];
	assert_int_equal(fd_pipe(rig->in, NULL), 0);
	assert_int_equal(fd_pipe(rig->out, NULL), 0);
	assert_int_equal(fd_pipe(rig->err, NULL), 0);
	assert_int_equal(fd_pipe(rig->cancel, NULL), 0);
	rig->exec = (struct microagent_exec){.command = words};
	assert_int_equal(calls_begin(&rig->connection.calls, &rig->call, &rig->exec,
				     AGENT_INPUT_STDIN, NULL),
			 0);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void rig_close(struct rig *rig)
{
	int *const fds[] = {&rig->guest,  &rig->in[0],	   &rig->in[1],
			    &rig->out[0], &rig->out[1],	   &rig->err[0],
			    &rig->err[1], &rig->cancel[0], &rig->cancel[1]};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close_one(fds[i]);
	connection_close(&rig->connection);
}

static int rig_run(struct rig *rig)
{
	const struct microagent_streams streams = {.in = rig->in[0],
						   .out = rig->out[1],
						   .err = rig->err[1],
						   .cancel = rig->cancel[0],
						   .signals = rig->signals,
						   .sink = rig->sink};
	const struct pump_guest guest = {.pause_fd = -1};

	rig->exec.terminal = rig->terminal;
	return pump_run(&rig->connection, &rig->call, &streams, &guest, &rig->outcome, &rig->error);
}

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

static void *run_pump(void *data)
{
	struct rig *rig = data;

	if (rig_run(rig) == 0)
		rig->error.code = ERR_NONE;
	close_one(&rig->out[1]);
	close_one(&rig->err[1]);
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

/* The guest says all it has to say and closes, while our reader has read nothing yet. */
static void *hasty_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[65536] = {7};
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	for (int i = 0; i < 4; i++)
		guest_data(rig->guest, 2, payload, sizeof(payload));
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":0}");
	close_one(&rig->guest);
	return NULL;
}

static void test_nothing_is_lost_when_the_guest_closes(void **state)
{
	struct rig rig;
	pthread_t guest, pump;
	struct buf got = BUF_INIT(0);

	(void)state;
	rig_open(&rig, 0);
	pthread_create(&guest, NULL, hasty_guest, &rig);
	pthread_create(&pump, NULL, run_pump, &rig);
	assert_int_equal(fd_read_to_end(rig.out[0], &got, NULL), 0);
	pthread_join(guest, NULL);
	pthread_join(pump, NULL);
	assert_int_equal(rig.outcome.end, MICROAGENT_EXITED);
	assert_int_equal(got.len, 4 * 65536);
	buf_free(&got);
	rig_close(&rig);
}

/* The exit is the last that is listened to: what a broken guest says after it changes nothing. */
static void *rambling_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[4096];
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":127,"
			       "\"startError\":\"no-such: not found\"}");
	guest_data(rig->guest, 2, "late", 4);
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":0}");
	guest_json(rig->guest, "nonsense");
	close_one(&rig->guest);
	return NULL;
}

static void test_nothing_after_the_exit(void **state)
{
	struct rig rig;
	pthread_t guest;
	uint8_t byte;

	(void)state;
	rig_open(&rig, 0);
	pthread_create(&guest, NULL, rambling_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	pthread_join(guest, NULL);
	assert_int_equal(rig.outcome.end, MICROAGENT_EXITED);
	assert_int_equal(rig.outcome.exit_code, 127);
	assert_string_equal(rig.outcome.start_error, "no-such: not found");
	close_one(&rig.out[1]);
	assert_int_equal(read(rig.out[0], &byte, 1), 0);
	rig_close(&rig);
}

static void *vanishing_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[4096];
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	fd_write_all(rig->guest, "\0\0", 2, NULL);
	close_one(&rig->guest);
	return NULL;
}

static void test_a_lost_connection(void **state)
{
	struct rig rig;
	pthread_t guest;

	(void)state;
	rig_open(&rig, 0);
	pthread_create(&guest, NULL, vanishing_guest, &rig);
	assert_int_equal(rig_run(&rig), -1);
	assert_int_equal(rig.error.code, ERR_UNAVAILABLE);
	pthread_join(guest, NULL);
	rig_close(&rig);
}

/* Writes until it is asked to stop; says whether it was. */
static void *endless_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[65536] = {0};
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	for (;;) {
		ssize_t n;

		guest_data(rig->guest, 2, "y\n", 2);
		n = recv(rig->guest, payload, sizeof(payload), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return NULL;
		if (n > 0 && memmem(payload, (size_t)n, "\"cancel\"", 8))
			break;
	}
	guest_json(rig->guest,
		   "{\"event\":\"exit\",\"request\":1,\"exitCode\":137,\"killed\":true}");
	return rig;
}

static void test_a_closed_stdout_cancels(void **state)
{
	struct rig rig;
	pthread_t guest;
	void *asked = NULL;

	(void)state;
	rig_open(&rig, 0);
	close_one(&rig.out[0]);
	pthread_create(&guest, NULL, endless_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(rig.outcome.end, MICROAGENT_OUT_CLOSED);
	pthread_join(guest, &asked);
	assert_non_null(asked);
	rig_close(&rig);
}

static void *quiet_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[4096];
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	fd_write_all(rig->cancel[1], "!", 1, NULL);
	if (guest_read(rig->guest, payload, sizeof(payload), &len) == '{')
		guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":137}");
	return NULL;
}

static void test_cancel(void **state)
{
	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		struct rig rig;
		pthread_t guest;

		rig_open(&rig, 0);
		pthread_create(&guest, NULL, quiet_guest, &rig);
		if (whole) /* its caller ends the whole guest: the agent is not asked */
			rig.call.exec = NULL;
		assert_int_equal(rig_run(&rig), 0);
		assert_int_equal(rig.call.ended, !whole);
		assert_int_equal(rig.outcome.end, MICROAGENT_CANCELLED);
		close_one(&rig.connection.fd);
		pthread_join(guest, NULL);
		rig_close(&rig);
	}
}

/* A guest that does not answer a cancel is left behind at the deadline. */
static void *deaf_guest(void *data)
{
	struct rig *rig = data;
	uint8_t payload[4096];
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	fd_write_all(rig->cancel[1], "!", 1, NULL);
	while (guest_read(rig->guest, payload, sizeof(payload), &len))
		;
	return NULL;
}

static void test_cancel_is_bounded(void **state)
{
	struct rig rig;
	pthread_t guest;

	(void)state;
	rig_open(&rig, 0);
	pthread_create(&guest, NULL, deaf_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(rig.outcome.end, MICROAGENT_CANCELLED);
	close_one(&rig.connection.fd);
	pthread_join(guest, NULL);
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

/* --- a terminal ------------------------------------------------------------------------------ */

static void fixed_size(void *data, uint16_t *rows, uint16_t *columns)
{
	const int *resized = data;
	char byte;

	assert_int_equal(read(*resized, &byte, 1), 1);
	*rows = 50;
	*columns = 140;
}

/* Waits for the new size and for what was typed, then says something, which is the cue. */
static void *terminal_guest(void *data)
{
	const struct rig *rig = data;
	static uint8_t payload[FRAME_MAX];
	bool resized = false, typed = false;
	size_t len;

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

/* Says what it was signalled with, until it is cancelled. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_megabytes_both_ways),
		cmocka_unit_test(test_nothing_is_lost_when_the_guest_closes),
		cmocka_unit_test(test_nothing_after_the_exit),
		cmocka_unit_test(test_a_lost_connection),
		cmocka_unit_test(test_a_closed_stdout_cancels),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_is_bounded),
		cmocka_unit_test(test_files_as_streams),
		cmocka_unit_test(test_a_small_connection_does_not_deadlock),
		cmocka_unit_test(test_a_terminal_is_resized_and_detached_from),
		cmocka_unit_test(test_signals_reach_the_guest_and_output_a_sink),
	};

	signal(SIGPIPE, SIG_IGN);
	/* The one deadline here is waited out in full. */
	limit_set(LIMIT_CANCEL_MS, 300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
