/* SPDX-License-Identifier: MIT */
/* Tests connections to the loopback of a namespace, and who gets them. */
#include "test_oci_net.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/connecting.h"
#include "oci/net/loopback.h"

static struct netns_loopback open_loopback(void)
{
	struct netns_loopback loopback = NETNS_LOOPBACK_NONE;
	struct error err = {0};

	if (netns_loopback_open(&loopback, &err) == 0)
		return loopback;
	/* If nobody may load programs there is nothing to test. */
	fprintf(stderr, "%s: %s\n", err.errnum == EPERM ? "skipped" : "failed", err.msg);
	_exit(err.errnum == EPERM ? SKIPPED : WRONG);
}

static int call(const char *host, uint16_t port)
{
	struct addresses list = {0};

	REQUIRE(addresses_add_text(&list, host, port));
	int fd = socket(list.at[0].ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0);
	if (connect(fd, (struct sockaddr *)&list.at[0], address_length(&list.at[0])) == 0)
		return fd;
	close(fd);
	return -1;
}

static int serve(const char *host, uint16_t port)
{
	struct addresses list = {0};
	int on = 1;

	REQUIRE(addresses_add_text(&list, host, port));
	int fd = socket(list.at[0].ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	REQUIRE(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	REQUIRE(bind(fd, (struct sockaddr *)&list.at[0], address_length(&list.at[0])) == 0);
	REQUIRE(listen(fd, 4) == 0);
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	REQUIRE(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
					      : ((struct sockaddr_in *)&at)->sin_port);
}

static void require_led(const struct netns_loopback *loopback, const char *host, uint16_t port)
{
	autoclose int near = call(host, port);
	autoclose int taken = accept4(loopback->listener, NULL, NULL, SOCK_CLOEXEC);
	char byte = 0;

	REQUIRE(near >= 0 && taken >= 0 && port_of(taken) == port);
	REQUIRE(write(near, "x", 1) == 1 && read(taken, &byte, 1) == 1 && byte == 'x');
	REQUIRE(write(taken, "y", 1) == 1 && read(near, &byte, 1) == 1 && byte == 'y');
}

static void require_refused(const char *host, uint16_t port)
{
	REQUIRE(call(host, port) < 0 && errno == ECONNREFUSED);
}

static void each_port_is_led_to_one(struct line line)
{
	const struct netns_loopback loopback = open_loopback();
	static const uint16_t ports[] = {1, 22, 80, 8080, 65535};

	(void)line;
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		require_led(&loopback, "127.0.0.1", ports[i]);
		require_led(&loopback, "::1", ports[i]);
	}
	require_led(&loopback, "127.0.0.1", port_of(loopback.listener));
}

/* Another address of the loopback, where Docker has its resolver; an address of a link; another
 * protocol; an earlier connection. */
static void others_are_as_they_were(struct line line)
{
	autoclose int early = serve("127.0.0.1", 7);
	autoclose int asking = call("127.0.0.1", 7);
	autoclose int asked = accept(early, NULL, NULL);
	autoclose int resolver = serve("127.0.0.11", 53);
	char byte = 0;

	(void)line;
	run("ip address add 10.1.0.2/24 dev eth0");
	const struct netns_loopback loopback = open_loopback();
	autoclose int client = call("127.0.0.11", 53);
	autoclose int served = accept(resolver, NULL, NULL);
	REQUIRE(client >= 0 && served >= 0);
	REQUIRE(write(asking, "x", 1) == 1 && read(asked, &byte, 1) == 1 && byte == 'x');
	require_refused("127.0.0.2", 80);
	require_refused("10.1.0.2", 80);
	autoclose int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(80),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	REQUIRE(connect(udp, (struct sockaddr *)&at, sizeof(at)) == 0 && send(udp, "x", 1, 0) == 1);
	REQUIRE(recv(udp, &byte, 1, 0) < 0 && errno == ECONNREFUSED);
	REQUIRE(accept(loopback.listener, NULL, NULL) < 0 && errno == EAGAIN);
}

/* An existing connection goes on, and the rest of an old one keeps nobody from its port. */
static void it_ends_with_its_descriptors(struct line line)
{
	struct netns_loopback loopback = open_loopback();
	autoclose int client = call("127.0.0.1", 80);
	autoclose int taken = accept(loopback.listener, NULL, NULL);
	char byte = 0;

	(void)line;
	close(loopback.listener);
	require_refused("127.0.0.1", 80);
	require_refused("::1", 80);
	REQUIRE(write(client, "x", 1) == 1 && read(taken, &byte, 1) == 1 && byte == 'x');
	close(steal_fd(&taken));
	close(steal_fd(&client));
	/* A server that listens is found again. */
	autoclose int other = serve("127.0.0.1", 80);
	autoclose int found = call("127.0.0.1", 80);
	autoclose int served = accept(other, NULL, NULL);
	REQUIRE(served >= 0);
	close(loopback.link);
}

static void without_its_link_nothing_is_led(struct line line)
{
	struct netns_loopback loopback = open_loopback();

	(void)line;
	close(loopback.link);
	require_refused("127.0.0.1", 80);
	REQUIRE(accept(loopback.listener, NULL, NULL) < 0 && errno == EAGAIN);
}

/* Of two listeners in one namespace the first gets all connections, and the second gets those after
 * the first one's end. */
static void two_of_one_namespace(struct line line)
{
	struct netns_loopback first = open_loopback(), second = open_loopback();

	(void)line;
	require_led(&first, "127.0.0.1", 80);
	close(first.listener);
	close(first.link);
	require_led(&second, "127.0.0.1", 80);
}

static void another_namespace_has_none_of_it(struct line line)
{
	const struct netns_loopback loopback = open_loopback();

	enter(line.far);
	require_refused("127.0.0.1", 80);
	enter(line.near);
	require_led(&loopback, "127.0.0.1", 80);
}

/* As on a host that was booted without IPv6, or that has it switched off in the namespace. */
static void without_ipv6(struct line line)
{
	(void)line;
	run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1");
	const struct netns_loopback loopback = open_loopback();
	require_led(&loopback, "127.0.0.1", 80);
	REQUIRE(call("::1", 80) < 0);
}

IN_NAMESPACES(each_port_is_led_to_one)
IN_NAMESPACES(others_are_as_they_were)
IN_NAMESPACES(it_ends_with_its_descriptors)
IN_NAMESPACES(without_its_link_nothing_is_led)
IN_NAMESPACES(two_of_one_namespace)
IN_NAMESPACES(another_namespace_has_none_of_it)
IN_NAMESPACES(without_ipv6)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_is_led_to_one_test),
		cmocka_unit_test(others_are_as_they_were_test),
		cmocka_unit_test(it_ends_with_its_descriptors_test),
		cmocka_unit_test(without_its_link_nothing_is_led_test),
		cmocka_unit_test(two_of_one_namespace_test),
		cmocka_unit_test(another_namespace_has_none_of_it_test),
		cmocka_unit_test(without_ipv6_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
