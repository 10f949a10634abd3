/* SPDX-License-Identifier: MIT */
/* The host's own addresses and resolver, as netgate and passt are told them. */
#include "test_base.h"

#include <arpa/inet.h>

#include "backend/qemu/host_routes.h"

static void the_loopback_is_the_hosts_own(void **state)
{
	struct host_routes *routes = malloc(sizeof(*routes));
	struct error err = {0};
	bool found = false;

	(void)state;
	assert_ok(host_routes_read(routes, &err));
	for (size_t i = 0; i < routes->count; i++)
		found |= routes->own[i].address_be == htonl(0x7f000000) &&
			 routes->own[i].bits_be == htonl(8);
	assert_true(found);
	free(routes);
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
		cmocka_unit_test(the_first_resolver_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
