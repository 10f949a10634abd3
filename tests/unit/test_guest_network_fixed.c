/* SPDX-License-Identifier: MIT */
/* Tests cards of a guest that are set as links of the host were; a veth is the card. */
#include "test_oci_net.h"

#include <jansson.h>
#include <net/if.h>

#include "guest/machine/network_fixed.h"

static int apply(const char *text, struct error *err)
{
	json_auto_t *network = json_loads(text, 0, NULL);

	REQUIRE(network);
	return network_fixed_apply(network, err);
}

/* Requires a line of `ip`'s output, exactly; blanks at its end do not count. */
static void expect_line(const char *command, const char *line)
{
	run("ip -o %s | sed 's/ *$//' | grep -qxF '%s' || { ip -o %s >&2; false; }", command, line,
	    command);
}

static const char calico[] =
	"{\"interfaces\": [{\"name\": \"net0\", \"mac\": \"" NEAR_MAC "\", \"mtu\": 1450,"
	" \"addresses\": [\"10.1.0.2/32\", \"10.4.0.2/24\", \"2001:db8:1::2/64\"], \"routes\": ["
	"{\"to\": \"0.0.0.0/0\", \"via\": \"169.254.1.1\"},"
	"{\"to\": \"10.9.0.0/16\", \"via\": \"192.0.2.1\", \"source\": \"10.1.0.2\","
	" \"onlink\": true, \"metric\": 7, \"mtu\": 1300},"
	"{\"to\": \"10.10.0.0/16\", \"via\": \"fe80::1\"},"
	"{\"to\": \"169.254.1.1/32\", \"scope\": \"link\"},"
	"{\"to\": \"2001:db8:1::/64\", \"metric\": 256},"
	"{\"to\": \"::/0\", \"via\": \"fe80::1\", \"metric\": 50}],"
	" \"neighbours\": ["
	"{\"address\": \"169.254.1.1\", \"mac\": \"ee:ee:ee:ee:ee:ee\"},"
	"{\"address\": \"fe80::1\", \"mac\": \"ee:ee:ee:ee:ee:e1\"}]}]}";

static void a_card_is_set(struct line line)
{
	struct error err = {0};

	(void)line;
	REQUIRE_OK(apply(calico, &err));
	run("ip -o link show net0 | grep -q 'UP.* mtu 1450 '");
	run("ip -o address show net0 | grep -q 'inet 10.1.0.2/32 scope global noprefixroute'");
	run("ip -o address show net0 | grep -q 'inet 10.4.0.2/24 brd 10.4.0.255 scope'");
	run("ip -o address show net0 | grep -q '2001:db8:1::2/64 scope global nodad nopref'");
	run("! ip -o address show net0 | grep -q tentative");
	expect_line("route show", "default via 169.254.1.1 dev net0 proto static");
	expect_line("route show", "169.254.1.1 dev net0 proto static scope link");
	expect_line("route show", "10.10.0.0/16 via inet6 fe80::1 dev net0 proto static");
	run("ip -o route show | grep -q '^10.9.0.0/16 via 192.0.2.1 dev net0 proto static src "
	    "10.1.0.2 metric 7 onlink mtu 1300'");
	run("test $(ip route show | wc -l) = 4"); /* none of 10.4.0.0/24, which nobody named */
	run("ip -6 route show | grep -q '^default via fe80::1 dev net0 proto static metric 50'");
	run("ip -6 route show | grep -q '^2001:db8:1::/64 dev net0 proto static metric 256'");
	expect_line("neighbour show nud permanent",
		    "169.254.1.1 dev net0 lladdr ee:ee:ee:ee:ee:ee PERMANENT");
	expect_line("neighbour show nud permanent",
		    "fe80::1 dev net0 lladdr ee:ee:ee:ee:ee:e1 PERMANENT");
}

/* Two cards, each with the other's name. */
static void names_are_swapped(struct line line)
{
	struct error err = {0};

	(void)line;
	run("ip link add net1 address 02:00:00:00:00:01 type veth peer name other");
	REQUIRE_OK(apply("{\"interfaces\": ["
			 "{\"name\": \"net1\", \"mac\": \"" NEAR_MAC "\"},"
			 "{\"name\": \"eth0\", \"mac\": \"02:00:00:00:00:01\", \"mtu\": 1400}]}",
			 &err));
	run("ip -o link show net1 | grep -q " NEAR_MAC);
	run("ip -o link show eth0 | grep -q 02:00:00:00:00:01");
	run("test -z \"$(ip -o link show | grep card-)\"");
}

static void what_is_wrong_is_named(struct line line)
{
#define CARD "{\"interfaces\": [{\"name\": \"eth0\", \"mac\": \"" NEAR_MAC "\""
	static const struct {
		const char *network, *message;
	} wrong[] = {
		{"{\"interfaces\": 1}", "network.interfaces must be"},
		{"{\"interfaces\": [1]}", "network.interfaces[0] must be an object"},
		{"{\"interfaces\": [{\"name\": \"eth0\", \"mac\": \"02:00:00:00:00:02\"}]}",
		 "network.interfaces[0]: no network card of the machine has this MAC address: name the address of one that it has"},
		{"{\"interfaces\": [{\"name\": \"eth0\", \"mac\": \"2:0:0:0:0:2\"}]}",
		 "network.interfaces[0].mac is not a MAC address"},
		{"{\"interfaces\": [{\"name\": \"longer than any\", \"mac\": \"" NEAR_MAC "\"}]}",
		 "network.interfaces[0].name: the kernel"},
		{"{\"interfaces\": [{\"name\": \"longer than any is\", \"mac\": \"" NEAR_MAC
		 "\"}]}",
		 "network.interfaces[0].name is not the name of an interface"},
		{CARD ", \"mtu\": 7}]}",
		 "network.interfaces[0]: the guest's network card cannot be brought up with an MTU of 7: the kernel"},
		{CARD ", \"addresses\": [\"10.0.0.1\"]}]}",
		 "network.interfaces[0].addresses[0] must be an address with the length of its prefix"},
		{CARD ", \"addresses\": [\"10.0.0.1/33\"]}]}",
		 "network.interfaces[0].addresses[0] must be an address with the length of its prefix"},
		{CARD ", \"addresses\": [null]}]}",
		 "network.interfaces[0].addresses[0] must be an address with the length of its prefix"},
		{CARD ", \"routes\": [{}]}]}", "network.interfaces[0].routes[0].to is required"},
		{CARD ", \"routes\": [{\"to\": \"10.0.0.0/8\", \"via\": \"x\"}]}]}",
		 "network.interfaces[0].routes[0].via is not an IP address"},
		{CARD ", \"routes\": [{\"to\": \"10.0.0.0/8\", \"scope\": \"host\"}]}]}",
		 "network.interfaces[0].routes[0].scope is not known"},
		{CARD ", \"routes\": [{\"to\": \"10.0.0.0/8\", \"via\": \"192.0.2.1\"}]}]}",
		 "network.interfaces[0].routes[0]: the kernel"},
		{CARD ", \"neighbours\": [{\"address\": \"10.0.0.1\", \"mac\": \"x\"}]}]}",
		 "network.interfaces[0].neighbours[0].mac is not a MAC"},
	};

	(void)line;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error err = {0};

		REQUIRE(apply(wrong[i].network, &err) < 0);
		if (strncmp(err.msg, wrong[i].message, strlen(wrong[i].message)) != 0) {
			fprintf(stderr, "%s\ninstead of %s\n", err.msg, wrong[i].message);
			_exit(WRONG);
		}
	}
}

static void no_more_cards_than_there_is_room_for(void **state)
{
	json_auto_t *network = json_pack("{s:[]}", "interfaces");
	struct error err = {0};

	(void)state;
	for (int i = 0; i <= NETWORK_FIXED_MAX; i++)
		json_array_append_new(json_object_get(network, "interfaces"), json_object());
	assert_int_equal(network_fixed_apply(network, &err), -1);
	assert_string_equal(err.msg, "network.interfaces may have at most 16 entries: give fewer");
}

IN_NAMESPACES(a_card_is_set)
IN_NAMESPACES(names_are_swapped)
IN_NAMESPACES(what_is_wrong_is_named)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_is_set_test),
		cmocka_unit_test(names_are_swapped_test),
		cmocka_unit_test(what_is_wrong_is_named_test),
		cmocka_unit_test(no_more_cards_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
