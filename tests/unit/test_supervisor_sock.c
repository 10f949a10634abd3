/* SPDX-License-Identifier: MIT */
/* Tests control.sock: requests of other commands to a live supervisor. */
#include "test_supervisor_stream.h"

static json_t *answer_ok(void *data, const json_t *request, struct control_client *client)
{
	int *count = data;

	(void)client;
	(*count)++;
	return json_pack("{s:b, s:s}", "ok", 1, "echo",
			 json_string_value(json_object_get(request, "action")));
}

static struct control_sock *open_sock(struct stage *stage, int *count)
{
	struct error err = {0};
	int listener = sock_listen_at(stage->scratch->fd, CONTROL_SOCK_NAME, &err);
	struct control_sock *server;

	assert_true(listener >= 0);
	server = control_sock_new(stage->loop, listener, answer_ok, count, &stage->log, &err);
	assert_non_null(server);
	return server;
}

static int dial(struct stage *stage)
{
	struct error err = {0};
	int fd = sock_connect_at(stage->scratch->fd, CONTROL_SOCK_NAME, &err);

	assert_true(fd >= 0);
	return fd;
}

static void requests(void **state)
{
	static const struct {
		const char *text, *answer;
		int served;
	} rows[] = {
		{"{\"action\":\"a\"}\n", "{\"ok\":true,\"echo\":\"a\"}\n", 1},
		{"{\"action\":\"a\"}\n{\"action\":\"b\"}\n", "{\"ok\":true,\"echo\":\"a\"}\n", 1},
		{"[]\n",
		 "{\"ok\":false,\"error\":\"the request to the live supervisor is not a JSON object: send one object in one line\","
		 "\"errorCode\":\"invalid\"}\n",
		 0},
	};
	struct stage *stage = *state;
	int count = 0;
	struct control_sock *server = open_sock(stage, &count);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd = dial(stage);
		char text[512] = "";

		count = 0;
		assert_int_equal(send(fd, rows[i].text, strlen(rows[i].text), 0),
				 (ssize_t)strlen(rows[i].text));
		settle_down(stage);
		assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
		assert_string_equal(text, rows[i].answer);
		assert_int_equal(count, rows[i].served);
		close(fd);
	}
	control_sock_free(server);
}

static void a_request_without_end(void **state)
{
	struct stage *stage = *state;
	int count = 0;
	struct control_sock *server = open_sock(stage, &count);
	int fd = dial(stage);
	char text[4096], byte;

	memset(text, ' ', sizeof(text));
	for (int i = 0; i < 64; i++) {
		(void)send(fd, text, sizeof(text), MSG_NOSIGNAL | MSG_DONTWAIT);
		settle_down(stage);
	}
	assert_int_not_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 1);
	assert_true(errno != EAGAIN);
	assert_int_equal(count, 0);
	close(fd);
	control_sock_free(server);
}

/* Silent clients take every place. The next one is served when their time has passed. */
static void silent_clients(void **state)
{
	struct stage *stage = *state;
	int count = 0, fds[12];
	struct control_sock *server;
	struct error err = {0};
	char byte;

	limit_set(LIMIT_CONTROL_REQUEST_MS, 20);
	server = open_sock(stage, &count);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial(stage);
	assert_true(send(fds[11], "{\"action\":\"x\"}\n", 15, 0) == 15);
	while (count == 0)
		assert_true(loop_once(stage->loop, -1, &err) >= 0);
	assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	control_sock_free(server);
	limit_reset(LIMIT_CONTROL_REQUEST_MS);
}

static void expect_answer(int fd)
{
	char text[64] = "";

	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "{\"ok\":true,\"echo\":\"x\"}\n");
}

/* The clients are served one after the other. While a client keeps its connection, the next one
 * waits, and the loop rests. */
static void clients_when_no_descriptor_is_left(void **state)
{
	struct stage *stage = *state;
	int count = 0, fds[3];
	struct control_sock *server;
	struct error err = {0};
	struct few_files few;

	limit_set(LIMIT_ACCEPT_AGAIN_MS, 10);
	server = open_sock(stage, &count);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial(stage);
	take_all_descriptors(&few);
	for (int round = 0; round < 10; round++) /* the first client is accepted, the second not */
		assert_true(loop_once(stage->loop, 0, &err) >= 0);
	assert_int_equal(loop_once(stage->loop, 0, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_int_equal(send(fds[i], "{\"action\":\"x\"}\n", 15, 0), 15);
		while (count <= (int)i)
			assert_true(loop_once(stage->loop, -1, &err) >= 0);
		expect_answer(fds[i]);
	}
	give_back_descriptors(&few);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	control_sock_free(server);
	limit_reset(LIMIT_ACCEPT_AGAIN_MS);
}

static void nobody_there(void **state)
{
	const struct identity caller = {.request_id = "req-1", .role = "workload"};
	struct stage *stage = *state;
	struct error err = {0};
	int count = 0;

	assert_int_equal(control_sock_power(stage->scratch->fd, "kill", &caller, false,
					    clock_mono_ns(), &err),
			 -1);
	assert_code(err, ERR_NOT_FOUND);
	control_sock_free(open_sock(stage, &count));
	assert_int_equal(control_sock_power(stage->scratch->fd, "kill", &caller, false,
					    clock_mono_ns(), &err),
			 -1);
	assert_code(err, ERR_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(requests),	    stage_test(a_request_without_end),
		stage_test(silent_clients), stage_test(clients_when_no_descriptor_is_left),
		stage_test(nobody_there),
	};

	return cmocka_run_group_tests_name("control.sock", tests, NULL, NULL);
}
