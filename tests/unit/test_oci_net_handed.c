/* SPDX-License-Identifier: MIT */
/* Tests that a namespace which was read on the host and set in a guest, here a third namespace,
 * reads as the same: everything in the document comes out of it. */
#include "test_oci_net.h"

#include "base/json.h"
#include "guest/machine/network_fixed.c" /* in no library that a host's test has */
#include "oci/net/netns.h"

static void fill_link(void)
{
	run("ip link set eth0 addrgenmode eui64");
	run("ip address add 10.1.0.2/32 dev eth0 && ip address add 10.4.0.7/24 dev eth0");
	run("ip address add 2001:db8:1::2/64 dev eth0 nodad");
	run("ip route add 169.254.1.1 dev eth0 scope link");
	run("ip route add default via 169.254.1.1 dev eth0");
	run("ip route add 10.9.0.0/16 via 192.0.2.1 dev eth0 onlink metric 7 mtu 1300 "
	    "src 10.1.0.2");
	run("ip route add 10.10.0.0/16 via inet6 fe80::1 dev eth0");
	run("ip -6 route add default via fe80::1 dev eth0");
	run("ip -6 route add 2001:db8:9::/64 via 2001:db8:1::1 dev eth0 mtu 1290");
	run("ip neighbour add 169.254.1.1 lladdr ee:ee:ee:ee:ee:ee nud permanent dev eth0");
}

static json_t *read_document(void)
{
	struct error err = {0};
	autofree struct netns *netns = netns_read(&err);
	json_t *document = netns ? netns_document(netns, &err) : NULL;

	if (!document)
		fprintf(stderr, "%s\n", err.msg);
	REQUIRE(document);
	return document;
}

static void what_was_handed_on_is_the_same(struct line line)
{
	char where[128] = "";
	struct error err = {0};

	(void)line;
	fill_link();
	json_auto_t *handed = read_document();
	(void)new_namespace();
	run("ip link add card0 address " NEAR_MAC " type veth peer name other");
	run("ip link set other up && ip link set lo up");
	REQUIRE_OK(network_fixed_apply(handed, &err));
	json_auto_t *set = read_document();
	if (json_first_difference(handed, set, where, sizeof(where)) != 0) {
		autofree char *text = json_dumps(set, JSON_INDENT(1));

		fprintf(stderr, "%s in %s\n", where, text);
		_exit(WRONG);
	}
}

IN_NAMESPACES(what_was_handed_on_is_the_same)

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_handed_on_is_the_same_test)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
