/* SPDX-License-Identifier: MIT */
/* Tests the connection to Firecracker's API: calls one after the other, faults, and every way in
 * which it can end. */
#include "test_base.h"

#include <jansson.h>
#include <sys/socket.h>

#include "backend/firecracker/api.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#define NO_CONTENT "HTTP/1.1 204 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n"

struct fixture {
	struct loop *loop;
	struct api *api;
	int peer;
	int answers, closed;
	struct error why, closed_why;
	char body[128];
	bool calls_again, silent;
};

static void on_answer(void *data, const json_t *body, const struct error *why)
{
	struct fixture *f = data;
	struct error err = {0};

	f->answers++;
	f->why = why ? *why : (struct error){0};
	snprintf(f->body, sizeof(f->body), "%s", json_text(body, "id", ""));
	if (f->calls_again) {
		f->calls_again = false;
		assert_ok(api_call(f->api, "GET", "/again", NULL, on_answer, f, &err));
	}
}

static void on_api_end(void *data, const struct error *why, bool silent)
{
	struct fixture *f = data;

	f->closed++;
	f->closed_why = *why;
	f->silent = silent;
}

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct api_events events = {on_api_end, f};
	struct error err = {0};
	int ends[2];

	if (fd_socketpair(ends, &err) < 0)
		return -1;
	f->peer = ends[1];
	f->loop = loop_new(&err);
	f->api = api_new(f->loop, ends[0], &events, &err);
	*state = f;
	return f->api ? 0 : -1;
}

static int finish(void **state)
{
	struct fixture *f = *state;

	api_free(f->api);
	loop_free(f->loop);
	cleanup_close(&f->peer);
	free(f);
	limit_reset(LIMIT_API_MS);
	limit_reset(LIMIT_API_RUNNING_MS);
	return 0;
}

static void settle(struct fixture *f)
{
	struct error err = {0};

	while (loop_once(f->loop, 0, &err) > 0)
		;
}

static void say(struct fixture *f, const char *text)
{
	(void)!send(f->peer, text, strlen(text), MSG_NOSIGNAL);
	settle(f);
}

/* Returns the requests since the last look. */
static const char *heard(struct fixture *f)
{
	static char text[4096];
	ssize_t n = recv(f->peer, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void call(struct fixture *f, const char *path)
{
	struct error err = {0};

	assert_ok(api_call(f->api, "PUT", path, json_pack("{s:i}", "a", 1), on_answer, f, &err));
	settle(f);
}

static void one_call_and_its_words(void **state)
{
	struct fixture *f = *state;

	call(f, "/vsock");
	assert_string_equal(heard(f),
			    "PUT /vsock HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
			    "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
	say(f, NO_CONTENT);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->why.code, ERR_NONE);
}

static void the_next_is_sent_when_the_one_before_was_answered(void **state)
{
	struct fixture *f = *state;

	call(f, "/one");
	call(f, "/two");
	assert_null(strstr(heard(f), "/two"));
	f->calls_again = true;
	say(f, NO_CONTENT);
	assert_non_null(strstr(heard(f), "PUT /two"));
	say(f, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"id\":");
	assert_int_equal(f->answers, 1);
	say(f, "\"x\"}");
	assert_int_equal(f->answers, 2);
	assert_string_equal(f->body, "x");
	assert_non_null(strstr(heard(f), "GET /again"));
	say(f, NO_CONTENT);
	assert_int_equal(f->answers, 3);
	assert_int_equal(f->closed, 0);
}

static void a_fault_is_told_in_its_words(void **state)
{
	struct fixture *f = *state;

	call(f, "/drives/rootfs");
	say(f, "HTTP/1.1 400 \r\nContent-Length: 28\r\n\r\n{\"fault_message\":\"no drive\"}");
	assert_int_equal(f->answers, 1);
	assert_string_equal(f->why.msg,
			    "Firecracker refused PUT /drives/rootfs: no drive (status 400)");
}

static void expect_broken(struct fixture *f, const char *words)
{
	assert_int_equal(f->closed, 1);
	assert_int_equal(f->answers, 1);
	assert_false(f->silent);
	if (!strstr(f->closed_why.msg, words))
		fail_msg("%s: not in: %s", words, f->closed_why.msg);
}

static void garbage_ends_it(void **state)
{
	call(*state, "/vsock");
	say(*state, "220 mail.example.org ESMTP\r\n");
	expect_broken(
		*state,
		"PUT /vsock: the status line of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
}

static void no_json_ends_it(void **state)
{
	call(*state, "/vsock");
	say(*state, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{a}");
	expect_broken(*state, "PUT /vsock: Firecracker's answer is not valid JSON");
}

static void half_an_answer_ends_it(void **state)
{
	struct fixture *f = *state;

	call(f, "/vsock");
	say(f, "HTTP/1.1 204");
	shutdown(f->peer, SHUT_RDWR);
	settle(f);
	expect_broken(f, "the answer ends in the middle");
}

static void no_answer_ends_it(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	limit_set(LIMIT_API_MS, 1);
	call(f, "/vsock");
	while (!f->closed)
		loop_once(f->loop, 1000, &err);
	expect_broken(f, "PUT /vsock: no answer within 1 ms");
	assert_code(f->closed_why, ERR_TIMEOUT);
}

static void another_deadline_is_that_of_the_next_call(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	limit_set(LIMIT_API_MS, 600000);
	limit_set(LIMIT_API_RUNNING_MS, 1);
	call(f, "/actions");
	api_set_deadline(f->api, LIMIT_API_RUNNING_MS);
	call(f, "/balloon");
	assert_int_equal(loop_once(f->loop, 10, &err), 0);
	say(f, NO_CONTENT);
	while (!f->closed)
		loop_once(f->loop, 1000, &err);
	assert_int_equal(f->answers, 2);
	assert_non_null(strstr(f->closed_why.msg, "PUT /balloon: no answer within 1 ms"));
}

static void words_that_nobody_asked_for_end_it(void **state)
{
	struct fixture *f = *state;

	say(f, NO_CONTENT);
	assert_int_equal(f->closed, 1);
	assert_non_null(strstr(
		f->closed_why.msg,
		"Firecracker sent data although no call waits for an answer: this is a bug, or Firecracker was taken over"));
}

static void its_end_between_two_calls_is_none_of_its_faults(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	shutdown(f->peer, SHUT_RDWR);
	settle(f);
	assert_int_equal(f->closed, 1);
	assert_true(f->silent);
	assert_string_equal(
		f->closed_why.msg,
		"Firecracker closed its API: its messages are in supervisor.log in the workspace");
	assert_int_equal(api_call(f->api, "PUT", "/x", NULL, on_answer, f, &err), -1);
}

static void its_end_in_a_call_names_each(void **state)
{
	struct fixture *f = *state;

	call(f, "/vsock");
	call(f, "/balloon");
	shutdown(f->peer, SHUT_RDWR);
	settle(f);
	assert_int_equal(f->answers, 2);
	assert_true(f->silent);
	assert_string_equal(
		f->why.msg,
		"Firecracker closed its API without an answer to PUT /balloon: its messages are in supervisor.log in the workspace");
	assert_string_equal(
		f->closed_why.msg,
		"Firecracker closed its API without an answer to PUT /vsock: its messages are in supervisor.log in the workspace");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
	const struct CMUnitTest tests[] = {
		TEST(one_call_and_its_words),
		TEST(the_next_is_sent_when_the_one_before_was_answered),
		TEST(a_fault_is_told_in_its_words),
		TEST(garbage_ends_it),
		TEST(no_json_ends_it),
		TEST(half_an_answer_ends_it),
		TEST(no_answer_ends_it),
		TEST(another_deadline_is_that_of_the_next_call),
		TEST(words_that_nobody_asked_for_end_it),
		TEST(its_end_in_a_call_names_each),
		TEST(its_end_between_two_calls_is_none_of_its_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
