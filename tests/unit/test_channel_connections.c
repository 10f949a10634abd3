/* SPDX-License-Identifier: MIT */
/* Tests requests of many threads to one guest: shared connections, output and stdin. */
#include "connections_fixture.h"

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

static void test_many_threads_share_a_connection(void **state)
{
	static struct client clients[64];
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 64; i++) {
		clients[i] = client_of(&connections, "echo");
		clients[i].runs = 50;
		snprintf(clients[i].text, sizeof(clients[i].text), "client %d", i);
		start(&clients[i]);
	}
	for (int i = 0; i < 64; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, 0);
	}
	assert_int_equal(guest.connections, 1);
	connections_free(&connections);
}

static void test_more_than_a_connection_takes(void **state)
{
	static struct client clients[300];
	struct connections connections;
	int cancel = eventfd(0, 0);

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 300; i++) {
		clients[i] = client_of(&connections, "hang");
		clients[i].cancel = cancel;
		start(&clients[i]);
	}
	wait_for_requests(300);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	for (int i = 0; i < 300; i++) {
		pthread_join(clients[i].thread, NULL);
		assert_int_equal(clients[i].status, 0);
		assert_true(clients[i].result.cancelled);
		assert_true(clients[i].result.killed);
		microagent_result_free(&clients[i].result);
	}
	assert_int_equal(guest.connections, 2);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	close(cancel);
	connections_free(&connections);
}

static int refuse_first(void *data, enum microagent_output which, const void *bytes, size_t len)
{
	int *count = data;

	(void)which;
	(void)bytes;
	(void)len;
	return ++*count == 1;
}

static void test_output_that_is_refused(void **state)
{
	static const char *const words[] = {"hang", "some output", NULL};
	const struct microagent_exec exec = {.command = words};
	int count = 0;
	const struct microagent_callbacks callbacks = {.output = refuse_first, .data = &count};
	struct shared_request request = {
		.exec = &exec, .callbacks = &callbacks, .cancel = -1, .deadline_ns = UINT64_MAX};
	struct microagent_result result;
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 3; i++) {
		count = 0;
		assert_int_equal(connections_run(&connections, &request, &result, NULL), 0);
		assert_true(result.cancelled);
		assert_int_equal(count, 1);
		assert_null(result.stdout_bytes);
	}
	assert_int_equal(guest.connections, 1); /* kept for the next */
	connections_free(&connections);
}

/* With an agent that has windows, and with one that knows none. */
static void count_stdin(struct connections *connections, const char *word, size_t len)
{
	static char bytes[1000000];
	const char *const words[] = {word, NULL};
	const struct microagent_exec exec = {.command = words};
	const struct shared_request request = {.exec = &exec,
					       .in = bytes,
					       .in_len = len,
					       .cap = {99, 99},
					       .cancel = -1,
					       .deadline_ns = UINT64_MAX};
	struct microagent_result result;
	char want[32];

	assert_int_equal(connections_run(connections, &request, &result, NULL), 0);
	snprintf(want, sizeof(want), "%zu", len);
	assert_string_equal(result.stdout_bytes, want);
	microagent_result_free(&result);
}

static void test_stdin(void **state)
{
	static const size_t sizes[] = {0, 5, 32768, 1000000};
	struct connections connections;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		connections_init(&connections, guest.dirfd);
		count_stdin(&connections, i % 2 ? "window" : "count", sizes[i]);
		connections_free(&connections);
	}
	connections_init(&connections, guest.dirfd);
	count_stdin(&connections, "window", 1000000);
	connections_free(&connections);
}

static size_t received(void)
{
	size_t n;

	pthread_mutex_lock(&guest.lock);
	n = guest.received;
	pthread_mutex_unlock(&guest.lock);
	return n;
}

/* Commands that do not read their stdin keep no other call from the connection, and hear of a
 * cancel. */
static void test_stdin_that_nobody_reads(void **state)
{
	static char bytes[1000000];
	static struct client deaf[8];
	struct client first;
	struct connections connections;
	int cancel = eventfd(0, 0), end = eventfd(0, 0);

	(void)state;
	connections_init(&connections, guest.dirfd);
	first = client_of(&connections, "hang");
	first.cancel = end;
	start(&first);
	wait_for_requests(1);
	for (int i = 0; i < 8; i++) {
		deaf[i] = client_of(&connections, "deaf");
		deaf[i].in = bytes;
		deaf[i].in_len = sizeof(bytes);
		deaf[i].cancel = cancel;
		start(&deaf[i]);
	}
	while (received() < (size_t)8 * WINDOW)
		assert_echo(&connections);
	assert_echo(&connections);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(deaf[i].thread, NULL);
		assert_int_equal(deaf[i].status, 0);
		assert_true(deaf[i].result.cancelled && deaf[i].result.killed);
		microagent_result_free(&deaf[i].result);
	}
	assert_int_equal(received(), (size_t)8 * WINDOW);
	assert_int_equal(guest.connections, 1);
	assert_int_equal(eventfd_write(end, 1), 0);
	finish(&first);
	close(cancel);
	close(end);
	connections_free(&connections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GUEST(test_many_threads_share_a_connection),
		WITH_GUEST(test_more_than_a_connection_takes),
		WITH_GUEST(test_output_that_is_refused),
		WITH_GUEST(test_stdin),
		WITH_GUEST(test_stdin_that_nobody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
