/* SPDX-License-Identifier: MIT */
/* Tests how a call through the pump ends: by its exit, a lost connection, a closed stdout or a
 * cancel. */
#include "pump_fixture.h"

#include <errno.h>
#include <poll.h>

#include "base/limits.h"

/* The guest sends everything and closes, while our reader has read nothing yet. */
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

/* Nothing is read after the exit: later bytes of a broken guest change nothing. */
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

/* Writes until it is asked to stop. Prints whether it was. */
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

/* --- a reader that does not read -------------------------------------------------------------- */

/* Fills the pipe of stdout and more, and then sends the exit, which comes after bytes that nobody
 * reads. */
static void *talkative_guest(void *data)
{
	static uint8_t payload[65536];
	struct rig *rig = data;
	size_t len;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	for (int i = 0; i < 4; i++)
		guest_data(rig->guest, 2, payload, sizeof(payload));
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":0}");
	return NULL;
}

static void test_a_deadline_holds_for_the_reader(void **state)
{
	struct rig rig;
	pthread_t guest;

	(void)state;
	limit_set(LIMIT_UNREAD_MS, 100);
	rig_open(&rig, 0);
	rig.call.timeout_seconds = 1;
	pthread_create(&guest, NULL, talkative_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	pthread_join(guest, NULL);
	assert_int_equal(rig.outcome.end, MICROAGENT_EXITED);
	assert_true(rig.outcome.unread);
	assert_true(rig.outcome.timed_out);
	assert_int_equal(rig.outcome.exit_code, 124);
	rig_close(&rig);
	limit_reset(LIMIT_UNREAD_MS);
}

/* The reader takes a little each time that it is asked. */
static void *slow_reader(void *data)
{
	struct rig *rig = data;
	uint8_t bytes[4096];
	ssize_t n;

	while ((n = read(rig->out[0], bytes, sizeof(bytes))) > 0)
		usleep(50000);
	return NULL;
}

static void test_a_reader_that_takes_a_little_has_an_end_too(void **state)
{
	struct rig rig;
	pthread_t guest, reader;

	(void)state;
	limit_set(LIMIT_UNREAD_MS, 600000);
	limit_set(LIMIT_EXEC_LATE_MS, 200);
	rig_open(&rig, 0);
	rig.call.timeout_seconds = 1;
	pthread_create(&guest, NULL, talkative_guest, &rig);
	pthread_create(&reader, NULL, slow_reader, &rig);
	assert_int_equal(rig_run(&rig), 0);
	close_one(&rig.out[1]);
	pthread_join(guest, NULL);
	pthread_join(reader, NULL);
	assert_true(rig.outcome.unread);
	rig_close(&rig);
	limit_reset(LIMIT_EXEC_LATE_MS);
	limit_reset(LIMIT_UNREAD_MS);
}

static void test_a_cancel_does_not_wait_for_the_reader(void **state)
{
	struct rig rig;
	pthread_t guest;
	void *asked = NULL;

	(void)state;
	limit_set(LIMIT_UNREAD_MS, 100);
	limit_set(LIMIT_CANCEL_MS, 600000);
	rig_open(&rig, 0);
	assert_int_equal(write(rig.cancel[1], "!", 1), 1);
	pthread_create(&guest, NULL, endless_guest, &rig);
	assert_int_equal(rig_run(&rig), 0);
	pthread_join(guest, &asked);
	assert_non_null(asked);
	assert_int_equal(rig.outcome.end, MICROAGENT_CANCELLED);
	assert_true(rig.call.ended);
	rig_close(&rig);
	limit_set(LIMIT_CANCEL_MS, 300);
	limit_reset(LIMIT_UNREAD_MS);
}

/* SIGTERM once. */
static int next_sigterm(void *data)
{
	uint8_t byte;

	return read(*(int *)data, &byte, 1) == 1 ? SIGTERM : 0;
}

/* It writes on whatever signals come, until it is cancelled. A reader that reads again gets its
 * output. */
static void run_signalled(struct rig *rig, bool own_readers, void *(*guest)(void *data))
{
	int ends[2];
	pthread_t thread;

	rig_open(rig, 0);
	assert_int_equal(fd_pipe(ends, NULL), 0);
	const struct microagent_signals signals = {ends[0], next_sigterm, &ends[0]};

	assert_int_equal(write(ends[1], "!", 1), 1);
	rig->signals = &signals;
	rig->known.has_readers_of_its_own = own_readers;
	pthread_create(&thread, NULL, guest, rig);
	assert_int_equal(rig_run(rig), 0);
	pthread_join(thread, NULL);
	close(ends[0]);
	close(ends[1]);
}

static void test_one_signal_ends_what_nobody_reads(void **state)
{
	struct rig rig;

	(void)state;
	limit_set(LIMIT_UNREAD_MS, 100);
	run_signalled(&rig, false, endless_guest);
	assert_int_equal(rig.outcome.end, MICROAGENT_CANCELLED);
	assert_true(rig.outcome.unread);
	rig_close(&rig);
	limit_reset(LIMIT_UNREAD_MS);
}

/* The caller handles its own signals, however long nobody reads: here for ten times as long as
 * another reader would have. */
static void *patient_guest(void *data)
{
	static uint8_t payload[65536];
	struct rig *rig = data;
	struct pollfd gone = {.fd = rig->guest, .events = POLLIN};
	size_t len = 0;

	guest_read(rig->guest, payload, sizeof(payload), &len);
	guest_json(rig->guest, start);
	for (int i = 0; i < 2; i++)
		guest_data(rig->guest, 2, payload, sizeof(payload));
	guest_read(rig->guest, payload, sizeof(payload), &len);
	assert_non_null(memmem(payload, len, "\"signal\"", 8));
	assert_int_equal(poll(&gone, 1, 1000), 0); /* nothing is asked of it */
	for (int i = 0; i < 2; i++)
		assert_int_equal(fd_read_exact(rig->out[0], payload, sizeof(payload), NULL), 0);
	guest_json(rig->guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":5}");
	return NULL;
}

static void test_a_signal_to_a_container_that_nobody_reads(void **state)
{
	struct rig rig;

	(void)state;
	limit_set(LIMIT_UNREAD_MS, 100);
	run_signalled(&rig, true, patient_guest);
	assert_int_equal(rig.outcome.end, MICROAGENT_EXITED);
	assert_int_equal(rig.outcome.exit_code, 5);
	assert_false(rig.outcome.unread);
	rig_close(&rig);
	limit_reset(LIMIT_UNREAD_MS);
}

/* --- pauses ---------------------------------------------------------------------------------- */

/* A machine that is paused and goes on, by bytes that the watcher writes into a pipe. */
struct machine {
	int change[2], asked[2];
	int watches, looks;
};

static int machine_watch(void *data)
{
	struct machine *machine = data;

	machine->watches++;
	return machine->change[0];
}

static bool machine_is_paused(void *data)
{
	struct machine *machine = data;
	char byte;

	/* The first look is for events before the watch. */
	if (machine->looks++ > 0)
		assert_int_equal(read(machine->change[0], &byte, 1), 1);
	assert_int_equal(write(machine->asked[1], "?", 1), 1);
	return false;
}

struct paused_guest {
	struct rig rig;
	struct machine machine;
};

/* Ends after two looks, the second one because of a change. */
static void *long_guest(void *data)
{
	struct paused_guest *p = data;
	uint8_t payload[4096];
	size_t len;
	char byte;

	guest_read(p->rig.guest, payload, sizeof(payload), &len);
	guest_json(p->rig.guest, start);
	fd_read_exact(p->machine.asked[0], &byte, 1, NULL);
	fd_write_all(p->machine.change[1], "!", 1, NULL);
	fd_read_exact(p->machine.asked[0], &byte, 1, NULL);
	guest_json(p->rig.guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":0}");
	return NULL;
}

static void *short_guest(void *data)
{
	struct paused_guest *p = data;
	uint8_t payload[4096];
	size_t len;

	guest_read(p->rig.guest, payload, sizeof(payload), &len);
	guest_json(p->rig.guest, "{\"event\":\"exit\",\"request\":1,\"exitCode\":0}");
	return NULL;
}

static void run_paused(struct paused_guest *p, void *(*guest)(void *data))
{
	pthread_t thread;

	rig_open(&p->rig, 0);
	assert_int_equal(fd_pipe(p->machine.change, NULL), 0);
	assert_int_equal(fd_pipe(p->machine.asked, NULL), 0);
	p->rig.known = (struct pump_guest){
		.is_paused = machine_is_paused, .watch_pauses = machine_watch, .data = &p->machine};
	pthread_create(&thread, NULL, guest, p);
	assert_int_equal(rig_run(&p->rig), 0);
	pthread_join(thread, NULL);
	assert_int_equal(p->rig.outcome.end, MICROAGENT_EXITED);
	for (int i = 0; i < 2; i++) {
		close(p->machine.change[i]);
		close(p->machine.asked[i]);
	}
	rig_close(&p->rig);
}

static void test_pauses_are_watched_for_in_what_goes_on(void **state)
{
	struct paused_guest p = {0};

	(void)state;
	limit_set(LIMIT_PAUSE_WATCH_MS, 1);
	run_paused(&p, long_guest);
	limit_reset(LIMIT_PAUSE_WATCH_MS);
	assert_int_equal(p.machine.watches, 1);
	assert_int_equal(p.machine.looks, 2);
}

static void test_a_short_command_is_not_watched(void **state)
{
	struct paused_guest p = {0};

	(void)state;
	limit_set(LIMIT_PAUSE_WATCH_MS, 600000);
	run_paused(&p, short_guest);
	limit_reset(LIMIT_PAUSE_WATCH_MS);
	assert_int_equal(p.machine.watches, 0);
	assert_int_equal(p.machine.looks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost_when_the_guest_closes),
		cmocka_unit_test(test_nothing_after_the_exit),
		cmocka_unit_test(test_a_lost_connection),
		cmocka_unit_test(test_a_closed_stdout_cancels),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_is_bounded),
		cmocka_unit_test(test_a_deadline_holds_for_the_reader),
		cmocka_unit_test(test_a_reader_that_takes_a_little_has_an_end_too),
		cmocka_unit_test(test_a_cancel_does_not_wait_for_the_reader),
		cmocka_unit_test(test_one_signal_ends_what_nobody_reads),
		cmocka_unit_test(test_a_signal_to_a_container_that_nobody_reads),
		cmocka_unit_test(test_pauses_are_watched_for_in_what_goes_on),
		cmocka_unit_test(test_a_short_command_is_not_watched),
	};

	signal(SIGPIPE, SIG_IGN);
	/* The one deadline here is waited out in full. */
	limit_set(LIMIT_CANCEL_MS, 300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
