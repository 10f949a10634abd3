/* SPDX-License-Identifier: MIT */
/* Tests connections to one guest that break, and guests that do not answer: which requests fail. */
#include "connections_fixture.h"

#include <errno.h>

#include "base/limits.h"

/* The end of the connection ends every call on it, and the next call dials again. */
static void broken_by(const char *word, enum error_code code)
{
	struct client clients[9];
	struct connections connections;

	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 9; i++)
		clients[i] = client_of(&connections, i < 8 ? "hang" : word);
	for (int i = 0; i < 8; i++)
		start(&clients[i]);
	wait_for_requests(8);
	start(&clients[8]);
	for (int i = 0; i < 9; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, -1);
		assert_int_equal(clients[i].err.code, code);
	}
	assert_int_equal(guest.connections, 1);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	connections_free(&connections);
}

static void test_a_breach_ends_all(void **state)
{
	(void)state;
	broken_by("breach", ERR_IO);
}

static void test_a_lost_connection_ends_all(void **state)
{
	(void)state;
	broken_by("close", ERR_UNAVAILABLE);
}

static void test_a_time_limit_ends_a_command(void **state)
{
	struct client c;
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	assert_echo(&connections); /* the guest is reached; a limit before that is an error */
	c = client_of(&connections, "hang");
	c.timeout_ms = 20;
	run_client(&c);
	assert_int_equal(c.status, 0);
	assert_true(c.result.timed_out);
	assert_false(c.result.cancelled);
	assert_int_equal(c.result.signal, 9);
	microagent_result_free(&c.result);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 1);
	connections_free(&connections);
}

static void test_an_agent_that_never_answers(void **state)
{
	struct client other, c;
	struct connections connections;
	int cancel = eventfd(0, 0);

	(void)state;
	set_mute(true);
	limit_set(LIMIT_CANCEL_MS, 500);
	connections_init(&connections, guest.dirfd);
	other = client_of(&connections, "hang");
	other.cancel = cancel;
	start(&other);
	wait_for_requests(1);
	c = client_of(&connections, "mute");
	c.timeout_ms = 20;
	run_client(&c);
	assert_int_equal(c.status, -1);
	assert_int_equal(c.err.code, ERR_TIMEOUT);
	assert_non_null(strstr(c.err.msg, "the guest does not answer"));
	/* The connection takes no more bytes, and calls on it are not disturbed. */
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	assert_int_equal(pthread_tryjoin_np(other.thread, NULL), EBUSY);
	set_mute(false);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.status, 0);
	assert_true(other.result.cancelled);
	microagent_result_free(&other.result);
	limit_reset(LIMIT_CANCEL_MS);
	close(cancel);
	connections_free(&connections);
}

static void test_a_guest_that_is_never_reached(void **state)
{
	struct client clients[4];
	struct connections connections;

	(void)state;
	guest.deaf = true;
	connections_init(&connections, guest.dirfd);
	limit_set(LIMIT_DIAL_MS, 100);
	for (int i = 0; i < 4; i++) {
		clients[i] = client_of(&connections, "echo");
		clients[i].timeout_ms = i == 3 ? 20 : 0;
		start(&clients[i]);
	}
	for (int i = 0; i < 4; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, -1);
		assert_int_equal(clients[i].err.code, ERR_TIMEOUT);
		assert_non_null(strstr(clients[i].err.msg, "the guest does not answer"));
	}
	limit_reset(LIMIT_DIAL_MS);
	connections_free(&connections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GUEST(test_a_breach_ends_all),
		WITH_GUEST(test_a_lost_connection_ends_all),
		WITH_GUEST(test_a_time_limit_ends_a_command),
		WITH_GUEST(test_an_agent_that_never_answers),
		WITH_GUEST(test_a_guest_that_is_never_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
