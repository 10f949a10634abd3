/* SPDX-License-Identifier: MIT */
/* Tests forward.c and connecting.c on the loopback. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/forward.h"
#include "base/loop.h"

struct fixture {
	struct loop *loop;
	struct forward *forward;
	struct forward *other; /* has the same bound as `forward`; NULL: there is none */
	struct forward_bound bound;
	struct addresses far;
	int server; /* where the far side listens */
	uint16_t port, other_port;
	int failures;
};

static int listen_at_loopback(int flags, uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static int call(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void *reach(void *data, int fd, reached_fn *done, void *done_data, struct error *err)
{
	struct sockaddr_in at = {0};
	struct fixture *f = data;
	socklen_t len = sizeof(at);

	/* The connection that has come: its target, and its sender. */
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	assert_true(ntohs(at.sin_port) == f->port || ntohs(at.sin_port) == f->other_port);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&at, &len), 0);
	return connecting_new(f->loop, &f->far, clock_mono_ns() + 10 * NS_PER_S, done, done_data,
			      err);
}

static void give_up(void *attempt)
{
	connecting_free(attempt);
}

static void on_failed(void *data, const struct error *why)
{
	struct fixture *f = data;

	assert_string_not_equal(why->msg, "");
	f->failures++;
}

static bool denied;

static bool admits(const struct sockaddr_storage *peer)
{
	assert_int_equal(peer->ss_family, AF_INET);
	return !denied;
}

static struct forward *make_one(struct fixture *f, uint16_t *port, unsigned most, bool refuse)
{
	struct error err = {0};
	const struct forward_spec spec = {
		.listen_fd = listen_at_loopback(SOCK_NONBLOCK, port),
		.most = most,
		.bound = f->bound.most ? &f->bound : NULL,
		.refuse = refuse,
		.admits = admits,
		.reach = reach,
		.give_up = give_up,
		.failed = on_failed,
		.data = f,
	};

	struct forward *made = forward_new(f->loop, &spec, &err);

	assert_non_null(made);
	assert_ok(forward_open(made, &err));
	return made;
}

static void make(struct fixture *f, unsigned most, bool refuse)
{
	f->forward = make_one(f, &f->port, most, refuse);
}

/* Makes two forwards, each for two connections, which may have `all` connections together. */
static void make_two(struct fixture *f, unsigned all, bool refuse)
{
	forward_bound_init(&f->bound, all);
	make(f, 2, refuse);
	f->other = make_one(f, &f->other_port, 2, refuse);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint16_t port = 0;

	denied = false;
	f->loop = loop_new(NULL);
	f->server = listen_at_loopback(SOCK_NONBLOCK, &port);
	addresses_add_text(&f->far, "127.0.0.1", port);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	forward_free(f->forward);
	forward_free(f->other);
	loop_free(f->loop);
	close(f->server);
	free(f);
	return 0;
}

static void turn(struct fixture *f)
{
	while (loop_once(f->loop, 20, NULL) > 0)
		;
}

static int answer(struct fixture *f)
{
	turn(f);
	return accept4(f->server, NULL, NULL, SOCK_CLOEXEC);
}

/* Returns 1 if it is silent, and 0 if it has ended, in any way. */
static bool lives(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void a_connection_is_joined_to_the_far_side(void **state)
{
	struct fixture *f = *state;
	char got[8] = "";

	make(f, 4, false);
	autoclose int client = call(f->port);
	autoclose int server = answer(f);
	assert_true(server >= 0);
	assert_int_equal(send(client, "hello", 5, 0), 5);
	turn(f);
	assert_int_equal(recv(server, got, sizeof(got), MSG_DONTWAIT), 5);
	assert_int_equal(forward_count(f->forward), 1);
	close(steal_fd(&server));
	close(steal_fd(&client));
	turn(f);
	assert_int_equal(forward_count(f->forward), 0);
	assert_int_equal(f->failures, 0);
}

static void the_first_address_that_answers_serves(void **state)
{
	struct fixture *f = *state;
	struct addresses two = {0};
	uint16_t dead = 0;

	close(listen_at_loopback(0, &dead));
	addresses_add_text(&two, "127.0.0.1", dead);
	two.at[two.count++] = f->far.at[0];
	f->far = two;
	make(f, 4, false);
	autoclose int client = call(f->port);
	autoclose int server = answer(f);
	assert_true(server >= 0 && lives(client));
}

static void a_far_side_that_refuses_ends_the_connection(void **state)
{
	struct fixture *f = *state;
	uint16_t dead = 0;

	close(listen_at_loopback(0, &dead));
	f->far.count = 0;
	addresses_add_text(&f->far, "127.0.0.1", dead);
	make(f, 4, false);
	autoclose int client = call(f->port);
	turn(f);
	assert_false(lives(client));
	assert_int_equal(f->failures, 1);
	assert_int_equal(forward_count(f->forward), 0);
}

static void who_may_not_connect_is_closed(void **state)
{
	struct fixture *f = *state;

	denied = true;
	make(f, 4, false);
	autoclose int client = call(f->port);
	turn(f);
	assert_false(lives(client));
	assert_int_equal(accept(f->server, NULL, NULL), -1);
}

static void above_the_limit_connections_wait(void **state)
{
	struct fixture *f = *state;

	make(f, 1, false);
	autoclose int first = call(f->port);
	autoclose int first_server = answer(f);
	autoclose int second = call(f->port);
	assert_int_equal(answer(f), -1);
	assert_true(lives(second));
	close(steal_fd(&first));
	close(steal_fd(&first_server));
	autoclose int second_server = answer(f);
	assert_true(second_server >= 0);
}

static void above_the_limit_connections_are_refused(void **state)
{
	struct fixture *f = *state;

	make(f, 1, true);
	autoclose int first = call(f->port);
	autoclose int server = answer(f);
	autoclose int second = call(f->port);
	turn(f);
	assert_false(lives(second));
	assert_true(server >= 0 && lives(first));
}

static void above_a_common_bound_connections_wait(void **state)
{
	struct fixture *f = *state;

	make_two(f, 3, false);
	autoclose int first = call(f->port), second = call(f->port);
	autoclose int first_server = answer(f), second_server = answer(f);
	autoclose int third = call(f->other_port);
	autoclose int third_server = answer(f);
	assert_true(third_server >= 0);
	autoclose int fourth = call(f->other_port);
	assert_int_equal(answer(f), -1);
	assert_true(lives(fourth));
	assert_int_equal(f->bound.count, 3);
	close(steal_fd(&first));
	close(steal_fd(&first_server));
	autoclose int fourth_server = answer(f);
	assert_true(fourth_server >= 0 && second_server >= 0);
}

/* Both listeners are reported in one round of the loop. */
static void the_last_place_of_a_common_bound_is_taken_once(void **state)
{
	struct fixture *f = *state;

	make_two(f, 1, false);
	autoclose int one = call(f->port), two = call(f->other_port);
	autoclose int server = answer(f);
	assert_int_equal(answer(f), -1);
	assert_true(server >= 0 && lives(one) && lives(two));
	assert_int_equal(f->bound.count, 1);
}

static void above_a_common_bound_connections_are_refused(void **state)
{
	struct fixture *f = *state;

	make_two(f, 1, true);
	autoclose int first = call(f->port);
	autoclose int server = answer(f);
	autoclose int second = call(f->other_port);
	turn(f);
	assert_false(lives(second));
	assert_true(server >= 0 && lives(first));
}

static void freeing_a_forward_gives_back_its_places(void **state)
{
	struct fixture *f = *state;

	make_two(f, 1, false);
	autoclose int first = call(f->port);
	autoclose int server = answer(f);
	autoclose int second = call(f->other_port);
	assert_int_equal(answer(f), -1);
	forward_free(steal_ptr(&f->forward));
	autoclose int second_server = answer(f);
	assert_true(server >= 0 && second_server >= 0);
	assert_false(lives(first));
}

static void freeing_it_ends_everything(void **state)
{
	struct fixture *f = *state;

	make(f, 4, false);
	autoclose int joined = call(f->port);
	autoclose int server = answer(f);
	autoclose int fresh = call(f->port);
	assert_true(loop_once(f->loop, 1000, NULL) > 0); /* accepted, not joined yet */
	forward_free(f->forward);
	f->forward = NULL;
	turn(f);
	assert_false(lives(joined));
	assert_false(lives(fresh));
	assert_false(lives(server));
}

static void addresses_are_told_apart(void **state)
{
	struct addresses list = {0};

	(void)state;
	assert_true(addresses_add_text(&list, "::1", 80));
	assert_true(addresses_add_text(&list, "::1", 80));
	assert_true(addresses_add_text(&list, "::1", 81));
	assert_false(addresses_add_text(&list, "localhost", 80));
	assert_false(addresses_add_text(&list, "", 80));
	assert_int_equal(list.count, 2);
	for (uint16_t i = 1; i < 100; i++)
		addresses_add_text(&list, "10.0.0.1", i);
	assert_int_equal(list.count, ADDRESSES_MAX);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_connection_is_joined_to_the_far_side),
		TEST(the_first_address_that_answers_serves),
		TEST(a_far_side_that_refuses_ends_the_connection),
		TEST(who_may_not_connect_is_closed),
		TEST(above_the_limit_connections_wait),
		TEST(above_the_limit_connections_are_refused),
		TEST(above_a_common_bound_connections_wait),
		TEST(the_last_place_of_a_common_bound_is_taken_once),
		TEST(above_a_common_bound_connections_are_refused),
		TEST(freeing_a_forward_gives_back_its_places),
		TEST(freeing_it_ends_everything),
		TEST(addresses_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
