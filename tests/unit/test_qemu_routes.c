/* SPDX-License-Identifier: MIT */
/* Tests the host's addresses, links and resolver, as netgate and passt are told them. */
#include "test_base.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>

#include "backend/parts/host_routes.h"

static uint32_t ip(const char *text)
{
	struct in_addr in;

	assert_int_equal(inet_pton(AF_INET, text, &in), 1);
	return in.s_addr;
}

static bool has(const struct host_routes *r, const char *address, unsigned bits,
		enum host_prefix_kind kind)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->prefixes[i].address_be == ip(address) &&
		    r->prefixes[i].bits_be == htonl(bits) && r->prefixes[i].kind_be == htonl(kind))
			return true;
	return false;
}

static void the_loopback_is_the_hosts_own(void **state)
{
	struct host_routes *routes = malloc(sizeof(*routes));
	struct error err = {0};
	autoclose int table = host_routes_open(&err);

	(void)state;
	assert_ok(host_routes_read(table, routes, &err));
	assert_true(has(routes, "127.0.0.0", 8, HOST_PREFIX_OWN));
	free(routes);
}

/* --- messages as the kernel writes them ------------------------------------------------------ */

union message {
	struct nlmsghdr header;
	uint8_t bytes[512];
};

static void append(union message *m, const void *data, size_t len)
{
	memcpy(m->bytes + m->header.nlmsg_len, data, len);
	m->header.nlmsg_len += (uint32_t)NLMSG_ALIGN(len);
}

static union message begin(uint16_t type, const void *body, size_t len)
{
	union message m = {.header = {.nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type}};

	append(&m, body, len);
	return m;
}

static void put(union message *m, unsigned short type, const void *data, size_t len)
{
	const struct rtattr a = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = type};

	append(m, &a, sizeof(a));
	append(m, data, len);
}

static void put_address(union message *m, unsigned short type, const char *address)
{
	uint32_t value = ip(address);

	put(m, type, &value, sizeof(value));
}

static union message flagged_route(unsigned char type, const char *to, unsigned char bits,
				   unsigned flags)
{
	const struct rtmsg r = {
		.rtm_family = AF_INET, .rtm_type = type, .rtm_dst_len = bits, .rtm_flags = flags};
	union message m = begin(RTM_NEWROUTE, &r, sizeof(r));
	const uint32_t interface = 2;

	if (bits)
		put_address(&m, RTA_DST, to);
	put(&m, RTA_OIF, &interface, sizeof(interface));
	return m;
}

static union message route(unsigned char type, const char *to, unsigned char bits)
{
	return flagged_route(type, to, bits, 0);
}

static union message address(const char *at, unsigned char bits)
{
	const struct ifaddrmsg a = {.ifa_family = AF_INET, .ifa_prefixlen = bits};
	union message m = begin(RTM_NEWADDR, &a, sizeof(a));

	put_address(&m, IFA_ADDRESS, at);
	return m;
}

/* Two routes, the first through a gateway and the second through this one, if any. */
static union message two_ways(const char *to, const char *gateway)
{
	union message m = route(RTN_UNICAST, to, 24);
	uint8_t hops[64] = {0};
	const uint32_t gateways[2] = {ip("203.0.113.1"), gateway ? ip(gateway) : 0};
	size_t len = 0;

	for (int i = 0; i < 2; i++) {
		bool with = gateways[i];
		struct rtnexthop hop = {.rtnh_len = (unsigned short)RTNH_LENGTH(with ? 8 : 0)};
		struct rtattr a = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_GATEWAY};

		memcpy(hops + len, &hop, sizeof(hop));
		if (with) {
			memcpy(hops + len + sizeof(hop), &a, sizeof(a));
			memcpy(hops + len + sizeof(hop) + sizeof(a), &gateways[i], 4);
		}
		len += hop.rtnh_len;
	}
	put(&m, RTA_MULTIPATH, hops, len);
	return m;
}

static struct host_routes table;

static void take(union message m)
{
	struct error err = {0};

	assert_int_equal(host_routes_take(&table, m.bytes, m.header.nlmsg_len, &err), 1);
}

static void what_has_no_gateway_is_on_the_link(void **state)
{
	union message m;

	(void)state;
	table.count = 0;
	take(route(RTN_UNICAST, "203.0.113.0", 24));
	assert_true(has(&table, "203.0.113.0", 24, HOST_PREFIX_ON_LINK));
	take(route(RTN_UNICAST, "192.0.2.9", 32)); /* the other end of a line */
	assert_true(has(&table, "192.0.2.9", 32, HOST_PREFIX_ON_LINK));
	take(two_ways("203.0.112.0", NULL));
	assert_true(has(&table, "203.0.112.0", 24, HOST_PREFIX_ON_LINK));
	take(address("198.51.100.3", 24)); /* which may have been told to make no route */
	assert_true(has(&table, "198.51.100.3", 24, HOST_PREFIX_ON_LINK));
	take(route(RTN_LOCAL, "203.0.113.2", 32));
	take(route(RTN_BROADCAST, "203.0.113.255", 32));
	assert_true(has(&table, "203.0.113.2", 32, HOST_PREFIX_OWN));
	assert_true(has(&table, "203.0.113.255", 32, HOST_PREFIX_OWN));
	assert_int_equal(table.count, 6);
	m = route(RTN_UNICAST, "198.18.0.0", 15);
	put_address(&m, RTA_GATEWAY, "203.0.113.1");
	take(m);
	m = route(RTN_UNICAST, "198.20.0.0", 16);
	put(&m, RTA_VIA, "\x0a\x00 an IPv6 address", 18);
	take(m);
	take(two_ways("198.21.0.0", "192.0.2.1"));
	take(route(RTN_UNREACHABLE, "198.22.0.0", 16));
	take(flagged_route(RTN_UNICAST, "198.23.0.1", 32, RTM_F_CLONED));
	assert_int_equal(table.count, 6);
}

static void a_way_out_is_no_link(void **state)
{
	(void)state;
	table.count = 0;
	table.has_default = false;
	take(route(RTN_UNICAST, "0.0.0.0", 1));
	take(route(RTN_UNICAST, "128.0.0.0", 1));
	take(address("203.0.113.2", 0));
	assert_false(table.has_default);
	take(route(RTN_UNICAST, NULL, 0));
	assert_true(table.has_default);
	assert_int_equal(table.count, 0);
}

static void too_many_shut_everything(void **state)
{
	char text[32];

	(void)state;
	table.count = 0;
	for (int i = 0; i <= HOST_ROUTES_MAX; i++) {
		snprintf(text, sizeof(text), "198.18.%d.%d", i >> 8, i & 255);
		assert_false(has(&table, "0.0.0.0", 0, HOST_PREFIX_OWN));
		take(route(RTN_UNICAST, text, 32));
	}
	assert_int_equal(table.count, HOST_ROUTES_MAX);
	assert_true(has(&table, "0.0.0.0", 0, HOST_PREFIX_OWN));
}

/* Each cut is an allocation of its own, so that a sanitizer sees a read beyond its end. */
static void messages_that_are_cut(void **state)
{
	union message whole[] = {two_ways("203.0.112.0", "192.0.2.1"), address("198.51.100.3", 24)};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		for (uint32_t len = NLMSG_HDRLEN; len < whole[i].header.nlmsg_len; len++) {
			uint8_t *copy = malloc(len);

			memcpy(copy, whole[i].bytes, len);
			memcpy(copy, &len, sizeof(len));
			table.count = 0;
			assert_int_equal(host_routes_take(&table, copy, len, &err), 1);
			assert_in_range(table.count, 0, 1);
			free(copy);
		}
}

static void the_first_resolver_counts(void **state)
{
	char address[16] = "";

	(void)state;
	assert_true(host_resolver("# nameserver 1.1.1.1\nsearch lan\nnameserver fe80::1%eth0\n"
				  "nameserver 127.0.0.53\nnameserver 9.9.9.9\n",
				  address));
	assert_string_equal(address, "127.0.0.53");
	assert_true(host_resolver("nameserver\t192.0.2.1", address));
	assert_string_equal(address, "192.0.2.1");
	assert_false(host_resolver("", address));
	assert_false(
		host_resolver("nameserver 300.1.1.1\nnameserver 1.2.3.4.5.6.7.8.9\n", address));
	assert_false(host_resolver("nameserver", address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loopback_is_the_hosts_own),
		cmocka_unit_test(what_has_no_gateway_is_on_the_link),
		cmocka_unit_test(a_way_out_is_no_link),
		cmocka_unit_test(too_many_shut_everything),
		cmocka_unit_test(messages_that_are_cut),
		cmocka_unit_test(the_first_resolver_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
