/* SPDX-License-Identifier: MIT */
/* Tests a process that asks its broker for connections. It gets them only to the ports that the
 * broker was given. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/connecting.h"

#define SECOND 1000000000ull

struct reached {
	struct loop *loop;
	int fd;
	struct error why;
};

static void on_reached(void *data, int fd, const struct error *why)
{
	struct reached *reached = data;

	reached->fd = fd;
	if (why)
		reached->why = *why;
	loop_stop(reached->loop);
}

static struct reached reach(struct loop *loop, const char *address, uint16_t port)
{
	struct reached reached = {.loop = loop, .fd = -1};
	struct addresses list = {0};
	struct error err;

	assert_true(addresses_add_text(&list, address, port));
	assert_non_null(connecting_new(loop, &list, clock_mono_ns() + 10 * SECOND, on_reached,
				       &reached, &err));
	assert_ok(loop_run(loop, &err));
	return reached;
}

static int listen_at_any_port(uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static void to_the_given_ports_alone(void **state)
{
	static struct connecting_ports ports;
	static const struct broker_row rows[] = {{&connecting_duty, &ports, "the test"}};
	uint16_t given, other;
	autoclose int one = listen_at_any_port(&given);
	autoclose int two = listen_at_any_port(&other);
	const struct broker_spec spec = {.rows = rows, .count = ARRAY_SIZE(rows)};
	struct broker_message in = {.len = sizeof(struct sockaddr_un)}, out;
	struct sockaddr_un daemon = {.sun_family = AF_UNIX, .sun_path = "/run/daemon.sock"};
	struct proc broker = PROC_NONE;
	struct error err;
	struct loop *loop;

	(void)state;
	ports = (struct connecting_ports){{given}, 1};
	assert_ok(broker_start(&spec, &broker, &err));
	loop = loop_new(&err);
	assert_non_null(loop);
	struct reached reached = reach(loop, "127.0.0.1", given);
	assert_true(reached.fd >= 0);
	autoclose int accepted = accept(one, NULL, NULL);
	assert_int_equal(write(reached.fd, "x", 1), 1);
	char byte;
	assert_int_equal(read(accepted, &byte, 1), 1);
	close(reached.fd);
	reached = reach(loop, "127.0.0.1", other);
	assert_int_equal(reached.fd, -1);
	assert_int_equal(reached.why.code, ERR_DENIED);
	assert_string_equal(
		reached.why.msg,
		"the broker refuses to connect to this port, because the config of the machine does not name it: this is a bug, or the live supervisor was taken over");
	close(steal_fd(&one));
	reached = reach(loop, "127.0.0.1", given);
	assert_int_equal(reached.fd, -1);
	assert_int_equal(reached.why.errnum, ECONNREFUSED);
	/* Requests that the module itself never makes. */
	memcpy(in.bytes, &daemon, sizeof(daemon));
	assert_int_equal(broker_ask(&connecting_duty, &in, &out, &err), -1);
	assert_string_equal(
		err.msg,
		"the broker refuses to connect, because the address in the request is malformed: this is a bug, or the live supervisor was taken over");
	in.len = sizeof(struct sockaddr_storage);
	assert_int_equal(broker_ask(&connecting_duty, &in, &out, &err), -1);
	assert_string_equal(
		err.msg,
		"the broker refuses to connect to this port, because the config of the machine does not name it: this is a bug, or the live supervisor was taken over");
	loop_free(loop);
	broker_end(&broker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(to_the_given_ports_alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
