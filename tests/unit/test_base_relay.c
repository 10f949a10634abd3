/* SPDX-License-Identifier: MIT */
/* Tests relay.c over socket pairs, and over TCP, where a reset differs from an end. */
#include "test_base.h"

#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/relay.h"

struct fixture {
	struct loop *loop;
	struct relay *relay;
	int left, right; /* the far ends of what is joined */
	int ended;
};

static void on_ended(void *data)
{
	struct fixture *f = data;

	f->ended++;
	relay_free(f->relay);
	f->relay = NULL;
}

static void join(struct fixture *f, const int a[2], const int b[2])
{
	struct error err = {0};

	f->left = a[1];
	f->right = b[1];
	f->relay = relay_new(f->loop, a[0], b[0], on_ended, f, &err);
	if (!f->relay)
		fail_msg("%s", err.msg);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->loop = loop_new(NULL);
	*state = f;
	return f->loop ? 0 : -1;
}

static int setup_pairs(void **state)
{
	int a[2], b[2];

	if (setup(state) < 0 || fd_socketpair(a, NULL) < 0 || fd_socketpair(b, NULL) < 0)
		return -1;
	join(*state, a, b);
	return 0;
}

/* [0] accepted, [1] connected. */
static void tcp_pair(int out[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	out[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(out[1], (struct sockaddr *)&at, len), 0);
	out[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(out[0] >= 0);
	close(listener);
}

static int setup_tcp(void **state)
{
	int a[2], b[2];

	if (setup(state) < 0)
		return -1;
	tcp_pair(a);
	tcp_pair(b);
	join(*state, a, b);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	relay_free(f->relay);
	loop_free(f->loop);
	if (f->left >= 0)
		close(f->left);
	if (f->right >= 0)
		close(f->right);
	free(f);
	return 0;
}

/* Runs the loop until nothing more happens. */
static void turn(struct fixture *f)
{
	while (loop_once(f->loop, 20, NULL) > 0)
		;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect(int fd, const char *text)
{
	char got[64] = "";

	assert_int_equal(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), strlen(text));
	assert_string_equal(got, text);
}

static void expect_end(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

static void expect_silence(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void bytes_go_both_ways_and_each_end_by_itself(void **state)
{
	struct fixture *f = *state;

	say(f->left, "question");
	say(f->right, "greeting");
	turn(f);
	expect(f->right, "question");
	expect(f->left, "greeting");
	shutdown(f->left, SHUT_WR);
	turn(f);
	expect_end(f->right);
	say(f->right, "answer");
	turn(f);
	expect(f->left, "answer");
	expect_silence(f->left);
	assert_int_equal(f->ended, 0);
	shutdown(f->right, SHUT_WR);
	turn(f);
	expect_end(f->left);
	assert_int_equal(f->ended, 1);
}

static void what_a_peer_said_before_it_closed_is_delivered(void **state)
{
	struct fixture *f = *state;

	say(f->left, "not read by anybody");
	turn(f);
	say(f->right, "last words");
	close(f->right);
	f->right = -1;
	say(f->left, "too late");
	turn(f);
	expect(f->left, "last words");
	assert_int_equal(f->ended, 1);
}

static void a_peer_that_is_gone_both_ways_ends_it(void **state)
{
	struct fixture *f = *state;

	shutdown(f->left, SHUT_WR);
	turn(f);
	assert_int_equal(f->ended, 0);
	close(f->left);
	f->left = -1;
	turn(f);
	assert_int_equal(f->ended, 1);
	expect_end(f->right);
}

static size_t fill(struct fixture *f, size_t most)
{
	static const char zeros[65536];
	size_t sent = 0;

	for (int idle = 0; idle < 3 && sent < most;) {
		ssize_t n = send(f->left, zeros, sizeof(zeros), MSG_NOSIGNAL | MSG_DONTWAIT);

		idle = n < 0 ? idle + 1 : 0;
		sent += n > 0 ? (size_t)n : 0;
		turn(f);
	}
	return sent;
}

static void a_slow_reader_holds_up_its_writer_alone(void **state)
{
	struct fixture *f = *state;
	char sink[65536];
	size_t sent = fill(f, 64 << 20), got = 0;
	ssize_t n;

	assert_true(sent < 32 << 20); /* sockets' buffers and a chunk, and no queue that grows */
	say(f->right, "the other way");
	turn(f);
	expect(f->left, "the other way");
	shutdown(f->left, SHUT_WR);
	while ((n = recv(f->right, sink, sizeof(sink), MSG_DONTWAIT)) != 0) {
		got += n > 0 ? (size_t)n : 0;
		if (n < 0)
			turn(f);
	}
	assert_int_equal(got, sent);
}

/* However slow the reader is. */
static void the_last_words_of_a_peer_that_is_gone_are_held(void **state)
{
	struct fixture *f = *state;
	char sink[65536];
	size_t sent, got = 0;
	ssize_t n;

	limit_set(LIMIT_RELAY_GONE_MS, 1);
	sent = fill(f, 64 << 20);
	close(f->left);
	f->left = -1;
	assert_true(loop_once(f->loop, 100, NULL) == 0);
	while ((n = recv(f->right, sink, sizeof(sink), MSG_DONTWAIT)) != 0) {
		got += n > 0 ? (size_t)n : 0;
		if (n < 0)
			turn(f);
	}
	assert_int_equal(got, sent);
	limit_set(LIMIT_RELAY_GONE_MS, 5000);
}

/* Otherwise its own end would be told only after a read, which may never come. */
static void of_a_peer_that_is_gone_only_what_is_taken_is_kept(void **state)
{
	struct fixture *f = *state;
	char sink[65536];

	relay_hurry(f->relay, 0);
	limit_set(LIMIT_RELAY_GONE_MS, 1000);
	fill(f, 64 << 20);
	close(f->left);
	f->left = -1;
	turn(f);
	assert_int_equal(f->ended, 0);
	for (int i = 0; i < 4; i++) {
		assert_true(recv(f->right, sink, sizeof(sink), MSG_DONTWAIT) > 0);
		turn(f);
		assert_int_equal(f->ended, 0);
	}
	while (f->ended == 0)
		assert_true(loop_once(f->loop, 5000, NULL) > 0);
	limit_set(LIMIT_RELAY_GONE_MS, 5000);
}

static void reset(int *fd)
{
	const struct linger now = {.l_onoff = 1};

	setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(*fd);
	*fd = -1;
}

static void a_reset_is_handed_on_as_a_reset(void **state)
{
	struct fixture *f = *state;
	char byte;

	say(f->left, "half a mess");
	turn(f);
	reset(&f->left);
	turn(f);
	assert_int_equal(f->ended, 1);
	expect(f->right, "half a mess");
	assert_int_equal(recv(f->right, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void a_whole_connection_is_not_reset(void **state)
{
	struct fixture *f = *state;

	say(f->left, "all of it");
	shutdown(f->left, SHUT_WR);
	shutdown(f->right, SHUT_WR);
	turn(f);
	assert_int_equal(f->ended, 1);
	expect(f->right, "all of it");
	expect_end(f->right);
	expect_end(f->left);
}

static void freeing_it_early_resets(void **state)
{
	struct fixture *f = *state;
	char byte;

	relay_free(f->relay);
	f->relay = NULL;
	assert_int_equal(recv(f->left, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

/* From here on no more than a page is sent at once, as by a kernel whose memory is fragmented. */
static bool refuse_long_sends(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	bool done = filter &&
		    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOMEM), SCMP_SYS(sendto), 1,
				     SCMP_A2(SCMP_CMP_GT, 4096)) == 0 &&
		    seccomp_load(filter) == 0;

	seccomp_release(filter);
	return done;
}

static int relay_without_memory(struct fixture *f)
{
	static uint8_t sent[50000], got[50000];
	size_t have = 0;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 >> 3);
	if (!refuse_long_sends() || write(f->left, sent, sizeof(sent)) != sizeof(sent))
		return 1;
	while (have < sizeof(sent)) {
		turn(f);
		ssize_t n = recv(f->right, got + have, sizeof(got) - have, MSG_DONTWAIT);
		if (n <= 0)
			return 2;
		have += (size_t)n;
	}
	return memcmp(sent, got, sizeof(sent)) == 0 && f->ended == 0 ? 0 : 3;
}

/* In a child, since only the child may have the filter. */
static void what_is_too_long_for_the_kernel_goes_in_parts(void **state)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(relay_without_memory(*state));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(test, with) cmocka_unit_test_setup_teardown(test, setup_##with, teardown)
	const struct CMUnitTest tests[] = {
		TEST(bytes_go_both_ways_and_each_end_by_itself, pairs),
		TEST(what_a_peer_said_before_it_closed_is_delivered, pairs),
		TEST(a_peer_that_is_gone_both_ways_ends_it, pairs),
		TEST(a_slow_reader_holds_up_its_writer_alone, pairs),
		TEST(the_last_words_of_a_peer_that_is_gone_are_held, pairs),
		TEST(of_a_peer_that_is_gone_only_what_is_taken_is_kept, pairs),
		TEST(bytes_go_both_ways_and_each_end_by_itself, tcp),
		TEST(a_slow_reader_holds_up_its_writer_alone, tcp),
		TEST(a_reset_is_handed_on_as_a_reset, tcp),
		TEST(a_whole_connection_is_not_reset, tcp),
		TEST(freeing_it_early_resets, tcp),
		TEST(what_is_too_long_for_the_kernel_goes_in_parts, pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
