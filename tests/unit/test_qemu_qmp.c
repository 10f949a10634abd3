/* SPDX-License-Identifier: MIT */
/* Tests the monitor client with a QEMU that the test plays, well-behaved and hostile. */
#include "test_base.h"

#include <jansson.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/qemu/qmp.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n"
#define CAPABILITIES "{\"execute\":\"qmp_capabilities\",\"id\":1}\n"

struct fixture {
	struct loop *loop;
	struct qmp *qmp;
	int peer;
	int readies, events, closes, replies;
	char last_event[64], last_body[256];
	struct error close_reason, reply_reason;
	bool closed_by_peer, reply_failed;
	json_int_t reply_value;
	bool free_in_event, free_in_reply, free_in_closed;
};

static void give_up(struct fixture *f)
{
	qmp_free(f->qmp);
	f->qmp = NULL;
}

static void on_ready(void *data)
{
	((struct fixture *)data)->readies++;
}

static void on_event(void *data, const char *name, const json_t *body)
{
	struct fixture *f = data;
	autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	f->events++;
	snprintf(f->last_event, sizeof(f->last_event), "%s", name);
	snprintf(f->last_body, sizeof(f->last_body), "%s", text ? text : "none");
	if (f->free_in_event)
		give_up(f);
}

static void on_closed(void *data, const struct error *why)
{
	struct fixture *f = data;

	f->closes++;
	f->closed_by_peer = !why;
	if (why)
		f->close_reason = *why;
	if (f->free_in_closed)
		give_up(f);
}

static void on_reply(void *data, const json_t *result, const struct error *why)
{
	struct fixture *f = data;

	f->replies++;
	f->reply_failed = why != NULL;
	assert_true((result == NULL) == (why != NULL));
	if (why)
		f->reply_reason = *why;
	else
		f->reply_value = json_integer_value(json_object_get(result, "n"));
	if (f->free_in_reply)
		give_up(f);
}

static int setup(void **state)
{
	const struct qmp_events events = {on_ready, on_event, on_closed, NULL};
	struct qmp_events mine = events;
	struct fixture *f = calloc(1, sizeof(*f));
	int ends[2];

	clock_set_virtual(NS_PER_S);
	f->loop = loop_new(NULL);
	mine.data = f;
	if (fd_socketpair(ends, NULL) < 0)
		return -1;
	f->peer = ends[0];
	f->qmp = qmp_new(f->loop, ends[1], &mine, NULL);
	*state = f;
	return f->qmp ? fd_nonblock(f->peer, true, NULL) : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	qmp_free(f->qmp);
	loop_free(f->loop);
	if (f->peer >= 0)
		close(f->peer);
	free(f);
	return 0;
}

/* Runs rounds until nothing is left to do. By the virtual clock none of them waits. */
static void settle(struct fixture *f)
{
	struct error err = {0};
	int n;

	do {
		n = loop_once(f->loop, 0, &err);
		assert_true(n >= 0);
	} while (n > 0);
}

static void say(struct fixture *f, const char *text)
{
	assert_int_equal(send(f->peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	settle(f);
}

static void expect_heard(struct fixture *f, const char *text)
{
	char bytes[4096];
	ssize_t n = recv(f->peer, bytes, sizeof(bytes) - 1, 0);

	bytes[n > 0 ? n : 0] = '\0';
	assert_string_equal(bytes, text);
}

static void negotiate(struct fixture *f)
{
	say(f, GREETING);
	expect_heard(f, CAPABILITIES);
	say(f, "{\"return\": {}, \"id\": 1}\r\n");
	assert_int_equal(f->readies, 1);
}

static void expect_breach(struct fixture *f)
{
	assert_int_equal(f->closes, 1);
	assert_false(f->closed_by_peer);
	assert_non_null(strstr(f->close_reason.msg, "QEMU's monitor"));
}

static void it_negotiates_before_anything_else(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	assert_ok(qmp_send(f->qmp, "cont", NULL, on_reply, f, &err));
	settle(f);
	expect_heard(f, "");
	say(f, GREETING);
	expect_heard(f, "{\"execute\":\"qmp_capabilities\",\"id\":2}\n");
	assert_int_equal(f->readies, 0);
	say(f, "{\"return\": {}, \"id\": 2}\r\n");
	assert_int_equal(f->readies, 1);
	expect_heard(f, "{\"execute\":\"cont\",\"id\":1}\n");
	say(f, "{\"return\": {\"n\": 7}, \"id\": 1}\r\n");
	assert_int_equal(f->replies, 1);
	assert_int_equal(f->reply_value, 7);
}

static void messages_may_come_in_pieces(void **state)
{
	static const char text[] =
		"{\"return\": {\"n\": 4}, \"id\": 2}\r\n{\"event\": \"STOP\"}\r\n";
	struct fixture *f = *state;
	struct error err = {0};

	negotiate(f);
	assert_ok(qmp_send(f->qmp, "x", json_pack("{s:i}", "a", 1), on_reply, f, &err));
	expect_heard(f, "{\"execute\":\"x\",\"id\":2,\"arguments\":{\"a\":1}}\n");
	for (size_t i = 0; text[i]; i++) {
		assert_int_equal(send(f->peer, text + i, 1, 0), 1);
		settle(f);
	}
	assert_int_equal(f->reply_value, 4);
	assert_string_equal(f->last_event, "STOP");
	assert_string_equal(f->last_body, "none");
}

static void an_error_is_the_commands_alone(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	negotiate(f);
	assert_ok(qmp_send(f->qmp, "x", NULL, on_reply, f, &err));
	say(f,
	    "{\"id\": 2, \"error\": {\"class\": \"GenericError\", \"desc\": \"no such disk\"}}\n");
	assert_true(f->reply_failed);
	assert_string_equal(f->reply_reason.msg, "QEMU: no such disk");
	assert_int_equal(f->closes, 0);
	say(f, "{\"event\": \"RESUME\", \"data\": {\"k\": 1}}\n");
	assert_string_equal(f->last_body, "{\"k\":1}");
}

static void a_command_may_carry_a_descriptor(void **state)
{
	struct fixture *f = *state;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char text[256] = "";
	struct iovec bytes = {text, sizeof(text) - 1};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.room)};
	struct error err = {0};
	struct stat sent, got;
	int fd = -1;

	assert_int_equal(qmp_send_fd(f->qmp, "getfd", NULL, 0, on_reply, f, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	negotiate(f);
	assert_int_equal(qmp_send_fd(f->qmp, "getfd", NULL, f->peer, on_reply, f, &err), 0);
	assert_true(recvmsg(f->peer, &message, MSG_DONTWAIT) > 0);
	assert_non_null(strstr(text, "\"getfd\""));
	assert_int_equal(control.header.cmsg_type, SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	assert_int_equal(fstat(f->peer, &sent) | fstat(fd, &got), 0);
	assert_int_equal(sent.st_ino, got.st_ino);
	close(fd);
}

static void a_late_answer_is_dropped(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	negotiate(f);
	assert_ok(qmp_send(f->qmp, "x", NULL, on_reply, f, &err));
	clock_set_virtual(clock_mono_ns() + limit_get(LIMIT_QMP_MS) * NS_PER_MS);
	settle(f);
	assert_int_equal(f->replies, 1);
	assert_code(f->reply_reason, ERR_TIMEOUT);
	say(f, "{\"return\": {}, \"id\": 2}\n{\"return\": {}, \"id\": 99}\n{\"return\": {}}\n");
	assert_int_equal(f->replies, 1);
	assert_int_equal(f->closes, 0);
}

static void a_missing_greeting_is_a_timeout(void **state)
{
	struct fixture *f = *state;

	clock_set_virtual(clock_mono_ns() + limit_get(LIMIT_QMP_GREETING_MS) * NS_PER_MS);
	settle(f);
	expect_breach(f);
	assert_code(f->close_reason, ERR_TIMEOUT);
}

static void an_end_answers_what_is_outstanding(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	negotiate(f);
	assert_ok(qmp_send(f->qmp, "x", NULL, on_reply, f, &err));
	assert_ok(qmp_send(f->qmp, "y", NULL, on_reply, f, &err));
	say(f, "{\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-shutdown\"}}\r\n");
	close(steal_fd(&f->peer));
	settle(f);
	assert_string_equal(f->last_event, "SHUTDOWN");
	assert_int_equal(f->replies, 2);
	assert_int_equal(f->closes, 1);
	assert_true(f->closed_by_peer);
	assert_int_equal(qmp_send(f->qmp, "z", NULL, NULL, NULL, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
}

/* Reads what a dead QEMU left in the socket, without the loop. */
static void a_drain_reads_to_the_end(void **state)
{
	static const char text[] = "{\"event\": \"A\"}\n{\"event\": \"B\"}\n";
	struct fixture *f = *state;

	negotiate(f);
	assert_true(send(f->peer, text, sizeof(text) - 1, 0) > 0);
	close(steal_fd(&f->peer));
	qmp_drain(f->qmp);
	assert_int_equal(f->events, 2);
	assert_int_equal(f->closes, 1);
}

static void only_so_many_commands_wait(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	int sent = 0;

	negotiate(f);
	while (sent < 1000 && qmp_send(f->qmp, "x", NULL, on_reply, f, &err) == 0)
		sent++;
	assert_int_equal(sent, 16);
	assert_code(err, ERR_UNAVAILABLE);
	say(f, "{\"return\": {}, \"id\": 2}\n");
	assert_ok(qmp_send(f->qmp, "x", NULL, on_reply, f, &err));
}

static void breaches_end_the_connection(void **state)
{
	static const char *const breaches[] = {
		"hello\n",
		"[]\n",
		"{}\n",
		"{\"event\": 5}\n",
		"{\"event\": \"X\", \"data\": []}\n",
		"{\"error\": \"x\", \"id\": 2}\n",
		"{\"error\": {}, \"id\": null}\n",
		"{\"a\": 1, \"a\": 2}\n",
		"\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(breaches); i++) {
		void *one = NULL;

		assert_int_equal(setup(&one), 0);
		struct fixture *f = one;
		negotiate(f);
		say(f, breaches[i]);
		expect_breach(f);
		teardown(&one);
	}
}

static void a_wrong_greeting_is_a_breach(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"QMP\": 1}\n");
	expect_breach(f);
}

static void an_endless_line_is_a_breach(void **state)
{
	struct fixture *f = *state;
	char bytes[16384];
	size_t most = limit_get(LIMIT_QMP_LINE_BYTES), sent = 0;

	negotiate(f);
	memset(bytes, 'x', sizeof(bytes));
	while (f->closes == 0 && sent <= most + sizeof(bytes)) {
		ssize_t n = send(f->peer, bytes, sizeof(bytes), MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		settle(f);
	}
	expect_breach(f);
	assert_true(sent >= most);
}

static void a_flood_of_events_is_only_work(void **state)
{
	struct fixture *f = *state;

	negotiate(f);
	for (int i = 0; i < 20000; i++)
		say(f, "{\"event\": \"FLOOD\"}\n");
	assert_int_equal(f->events, 20000);
	assert_int_equal(f->closes, 0);
}

static void it_may_be_freed_in_an_event(void **state)
{
	struct fixture *f = *state;

	negotiate(f);
	f->free_in_event = true;
	say(f, "{\"event\": \"A\"}\n{\"event\": \"B\"}\n");
	assert_int_equal(f->events, 1);
	assert_int_equal(f->closes, 0);
}

static void it_may_be_freed_in_a_reply(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	negotiate(f);
	assert_ok(qmp_send(f->qmp, "x", NULL, on_reply, f, &err));
	assert_ok(qmp_send(f->qmp, "y", NULL, on_reply, f, &err));
	f->free_in_reply = true;
	close(steal_fd(&f->peer));
	settle(f);
	assert_int_equal(f->replies, 1);
	assert_int_equal(f->closes, 0);
}

static void it_may_be_freed_when_closed(void **state)
{
	struct fixture *f = *state;

	negotiate(f);
	f->free_in_closed = true;
	close(steal_fd(&f->peer));
	settle(f);
	assert_int_equal(f->closes, 1);
	assert_null(f->qmp);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(it_negotiates_before_anything_else),
		WITH(messages_may_come_in_pieces),
		WITH(an_error_is_the_commands_alone),
		WITH(a_command_may_carry_a_descriptor),
		WITH(a_late_answer_is_dropped),
		WITH(a_missing_greeting_is_a_timeout),
		WITH(an_end_answers_what_is_outstanding),
		WITH(a_drain_reads_to_the_end),
		WITH(only_so_many_commands_wait),
		cmocka_unit_test(breaches_end_the_connection),
		WITH(a_wrong_greeting_is_a_breach),
		WITH(an_endless_line_is_a_breach),
		WITH(a_flood_of_events_is_only_work),
		WITH(it_may_be_freed_in_an_event),
		WITH(it_may_be_freed_in_a_reply),
		WITH(it_may_be_freed_when_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
