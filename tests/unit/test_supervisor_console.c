/* SPDX-License-Identifier: MIT */
/* Tests console.sock: the clients of a machine's serial console. */
#include "test_supervisor_stream.h"

#include "supervisor/live/console.h"

static size_t take_input(void *data, const uint8_t *bytes, size_t len)
{
	(void)data;
	(void)bytes;
	return len;
}

/* The client waits, and the loop rests, until there is a descriptor again. */
static void a_client_when_no_descriptor_is_left(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	int listener = sock_listen_at(stage->scratch->fd, CONSOLE_SOCK_NAME, &err);
	struct console *console;
	struct few_files few;
	char got = 0;
	int client;

	limit_set(LIMIT_ACCEPT_AGAIN_MS, 10);
	console = console_new(stage->loop, listener, take_input, NULL, &stage->log, &err);
	assert_non_null(console);
	client = sock_connect_at(stage->scratch->fd, CONSOLE_SOCK_NAME, &err);
	assert_true(client >= 0);
	take_all_descriptors(&few);
	assert_int_equal(loop_once(stage->loop, 0, &err), 1);
	assert_int_equal(loop_once(stage->loop, 0, &err), 0);
	give_back_descriptors(&few);
	while (recv(client, &got, 1, MSG_DONTWAIT) != 1) {
		assert_true(loop_once(stage->loop, -1, &err) >= 0);
		console_output(console, (const uint8_t *)"x", 1);
	}
	assert_int_equal(got, 'x');
	close(client);
	console_free(console);
	limit_reset(LIMIT_ACCEPT_AGAIN_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(a_client_when_no_descriptor_is_left),
	};

	return cmocka_run_group_tests_name("console.sock", tests, NULL, NULL);
}
