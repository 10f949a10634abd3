/* SPDX-License-Identifier: MIT */
/* Tests published ports through the mux, to a server of the test. */
#include "guest_mux_bed.h"

#include <fcntl.h>
#include <netinet/in.h>

#include "base/json.h"
#include "base/limits.h"
#include "guest/machine/publish.h"

struct shop {
	struct bed *bed;
	int server; /* listens */
	uint16_t port;
};

static int server_on_loopback(uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void publish(struct shop *s)
{
	json_auto_t *list = json_pack("[{s:i}]", "guestPort", s->port);
	struct error err = {0};

	assert_ok(publish_start(s->bed->loop, s->bed->mux, list, -1, &err));
}

static int shop_setup(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));
	void *bed = NULL;

	bed_setup(&bed);
	s->bed = bed;
	s->server = server_on_loopback(&s->port);
	publish(s);
	publish(s); /* of the second config of a machine that came back: once is enough */
	welcome(s->bed, expect_hello(s->bed));
	*state = s;
	return 0;
}

static int shop_teardown(void **state)
{
	struct shop *s = *state;
	void *bed = s->bed;

	if (s->server >= 0)
		close(s->server);
	free(s);
	return bed_teardown(&bed);
}

static struct packet to_guest(const struct shop *s, enum packet_op op, uint32_t len)
{
	return host_packet(PUBLISH_PORT_FIRST + s->port, op, len);
}

static void connect_to_guest(struct shop *s)
{
	const struct packet p = to_guest(s, PACKET_REQUEST, 0);

	host_say(s->bed, &p, NULL);
}

/* Returns what the host hears next, whenever that is. */
static struct packet expect_later(struct shop *s, unsigned op)
{
	struct error err;
	char byte;

	while (recv(s->bed->host, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 1)
		assert_true(loop_once(s->bed->loop, -1, &err) >= 0);
	return host_expect(s->bed, op);
}

static void cut_off(struct shop *s)
{
	const struct packet p = to_guest(s, PACKET_RST, 0);

	host_say(s->bed, &p, NULL);
}

static void a_server_answers(void **state)
{
	struct shop *s = *state;
	struct packet p = to_guest(s, PACKET_RW, 4);
	char got[8] = "";

	connect_to_guest(s);
	host_expect(s->bed, PACKET_RESPONSE);
	/* Before its program is reached, too. */
	host_say(s->bed, &p, "word");
	autoclose int fd = accept(s->server, NULL, NULL);
	assert_true(fd >= 0);
	rounds(s->bed);
	assert_int_equal(recv(fd, got, 4, MSG_WAITALL), 4);
	assert_string_equal(got, "word");
	assert_int_equal(write(fd, "answer", 6), 6);
	assert_int_equal(expect_later(s, PACKET_RW).len, 6);
	close(steal_fd(&fd));
	assert_int_equal(expect_later(s, PACKET_SHUTDOWN).flags, SHUT_SEND);
	cut_off(s);
}

/* A server must know that it did not get all bytes. */
static void a_client_that_is_cut_off_resets(void **state)
{
	struct shop *s = *state;
	char byte;

	connect_to_guest(s);
	host_expect(s->bed, PACKET_RESPONSE);
	autoclose int fd = accept(s->server, NULL, NULL);
	assert_true(fd >= 0);
	rounds(s->bed);
	cut_off(s);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

/* Nobody reads which one a connection through the mux is. */
static void any_port_is_refused(void **state)
{
	struct shop *s = *state;
	json_auto_t *list = json_pack("[{s:i}]", "guestPort", 0);
	struct error err = {0};

	assert_int_equal(publish_start(s->bed->loop, s->bed->mux, list, -1, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
}

static void nobody_listens(void **state)
{
	struct shop *s = *state;

	close(steal_fd(&s->server));
	connect_to_guest(s);
	host_expect(s->bed, PACKET_RESPONSE);
	assert_int_equal(expect_later(s, PACKET_SHUTDOWN).flags, SHUT_BOTH);
}

/* One more connection waits until another is over. */
static void no_more_than_the_limit(void **state)
{
	struct shop *s = *state;
	struct packet p = to_guest(s, PACKET_REQUEST, 0);
	int fd;

	limit_set(LIMIT_PUBLISH_CONNECTIONS, 1);
	connect_to_guest(s);
	host_expect(s->bed, PACKET_RESPONSE);
	fd = accept(s->server, NULL, NULL);
	p.src_port++;
	host_say(s->bed, &p, NULL);
	host_expect(s->bed, PACKET_RESPONSE);
	rounds(s->bed);
	assert_int_equal(fcntl(s->server, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(s->server, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(s->server, F_SETFL, 0), 0);
	cut_off(s);
	close(fd);
	fd = accept(s->server, NULL, NULL);
	rounds(s->bed);
	p.op = PACKET_RST;
	host_say(s->bed, &p, NULL);
	close(fd);
	limit_reset(LIMIT_PUBLISH_CONNECTIONS);
}

static void other_ports_are_not_there(void **state)
{
	struct shop *s = *state;
	struct packet p = host_packet(PUBLISH_PORT_FIRST, PACKET_REQUEST, 0);

	host_say(s->bed, &p, NULL);
	host_expect(s->bed, PACKET_RST);
}

#define shop_test(f) cmocka_unit_test_setup_teardown(f, shop_setup, shop_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		shop_test(a_server_answers),	   shop_test(a_client_that_is_cut_off_resets),
		shop_test(any_port_is_refused),	   shop_test(nobody_listens),
		shop_test(no_more_than_the_limit), shop_test(other_ports_are_not_there),
	};

	return cmocka_run_group_tests_name("guest publish", tests, NULL, NULL);
}
