/* SPDX-License-Identifier: MIT */
/* Tests the contents of a network namespace, as they are read and described to the guest; and
 * messages that are cut, or have too much. */
#include "test_oci_net.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include "base/json.h"
#include "base/platform/linux/netlink.h"
#include "oci/net/netns.h"

/* --- bytes ----------------------------------------------------------------------------------- */

static struct netlink_bytes bytes_of(const struct netlink_message *message)
{
	return (struct netlink_bytes){message->bytes, message->len};
}

static void set_length(struct netlink_message *message)
{
	const uint32_t len = (uint32_t)message->len;

	memcpy(message->bytes, &len, sizeof(len));
}

static void attributes_are_found(void **state)
{
	const struct ifinfomsg head = {.ifi_index = 7};
	struct netlink_bytes datagram, attributes, got;
	struct netlink_message message;
	struct netlink_reply reply;
	struct ifinfomsg read_head;
	uint32_t number = 5;

	(void)state;
	netlink_begin(&message, RTM_NEWLINK, 0, &head, sizeof(head));
	netlink_put_string(&message, IFLA_IFNAME, "eth0");
	size_t nest = netlink_nest(&message, IFLA_LINKINFO | NLA_F_NESTED);
	netlink_put_u32(&message, 1, 99);
	netlink_nest_end(&message, nest);
	set_length(&message);
	datagram = bytes_of(&message);
	assert_true(netlink_next(&datagram, &reply));
	assert_int_equal(reply.type, RTM_NEWLINK);
	assert_int_equal(datagram.len, 0);
	assert_true(netlink_head(reply.body, &read_head, sizeof(read_head), &attributes));
	assert_int_equal(read_head.ifi_index, 7);
	assert_true(netlink_attribute(attributes, IFLA_IFNAME, &got));
	assert_int_equal(got.len, 5);
	assert_string_equal((const char *)got.data, "eth0");
	assert_false(netlink_u32(attributes, IFLA_IFNAME, &number));
	assert_false(netlink_u32(attributes, IFLA_MTU, &number));
	assert_int_equal(number, 5);
	assert_true(netlink_attribute(attributes, IFLA_LINKINFO, &got));
	assert_true(netlink_u32(got, 1, &number));
	assert_int_equal(number, 99);
}

static void lengths_that_lie(void **state)
{
	static const uint16_t wrong[] = {0, 1, 3, 13, 0x7fff, 0xffff};
	uint8_t bytes[12] = {0, 0, 9, 0};
	struct netlink_bytes got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(bytes, &wrong[i], 2);
		assert_false(
			netlink_attribute((struct netlink_bytes){bytes, sizeof(bytes)}, 9, &got));
	}
	memcpy(bytes, "\x0b", 2); /* the last one may lack its padding */
	assert_true(netlink_attribute((struct netlink_bytes){bytes, 11}, 9, &got));
	assert_int_equal(got.len, 7);
	assert_false(netlink_attribute((struct netlink_bytes){bytes, 10}, 9, &got));
	assert_false(netlink_attribute((struct netlink_bytes){bytes, 11}, 10, &got));
	assert_false(netlink_attribute((struct netlink_bytes){bytes, 3}, 9, &got));
}

static void a_request_without_room_is_not_sent(void **state)
{
	uint8_t much[NETLINK_MESSAGE_BYTES] = {0};
	struct netlink_message message;
	struct error err = {0};

	(void)state;
	autoclose int fd = netlink_open(NETLINK_ROUTE, &err);
	netlink_begin(&message, RTM_GETLINK, 0, NULL, 0);
	netlink_put(&message, 1, much, sizeof(much) - 16);
	assert_true(message.overfull);
	assert_int_equal(netlink_request(fd, &message, &err), -1);
	assert_code(err, ERR_INTERNAL);
	netlink_begin(&message, RTM_GETLINK, 0, NULL, 0);
	netlink_put(&message, 1, much, 1 << 20);
	assert_true(message.overfull);
}

static void the_kernel_says_what_is_wrong(void **state)
{
	const struct ifinfomsg head = {.ifi_index = 1 << 30, .ifi_family = AF_UNSPEC};
	struct netlink_message message;
	struct error err = {0};

	(void)state;
	autoclose int fd = netlink_open(NETLINK_ROUTE, &err);
	netlink_begin(&message, RTM_NEWLINK, 0, &head, sizeof(head));
	assert_int_equal(netlink_request(fd, &message, &err), -1);
	assert_true(err.errnum == ENODEV || err.errnum == EPERM);
}

/* --- messages as the kernel writes them ------------------------------------------------------ */

static void make_link(struct netlink_message *m, int index, const char *name, unsigned flags)
{
	const struct ifinfomsg head = {
		.ifi_type = ARPHRD_ETHER, .ifi_index = index, .ifi_flags = flags};

	netlink_begin(m, RTM_NEWLINK, 0, &head, sizeof(head));
	netlink_put_string(m, IFLA_IFNAME, name);
	netlink_put_u32(m, IFLA_MTU, 1500);
	netlink_put(m, IFLA_ADDRESS, "\2\0\0\0\0\1", 6);
	set_length(m);
}

static void make_address(struct netlink_message *m, unsigned index)
{
	const struct ifaddrmsg head = {
		.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = index};

	netlink_begin(m, RTM_NEWADDR, 0, &head, sizeof(head));
	netlink_put(m, IFA_LOCAL, "\x0a\1\0\2", 4);
	set_length(m);
}

static const struct rtmsg route_head = {.rtm_family = AF_INET,
					.rtm_dst_len = 24,
					.rtm_table = RT_TABLE_MAIN,
					.rtm_protocol = RTPROT_STATIC,
					.rtm_type = RTN_UNICAST};

static void make_route(struct netlink_message *m, uint32_t index)
{
	netlink_begin(m, RTM_NEWROUTE, 0, &route_head, sizeof(route_head));
	netlink_put(m, RTA_DST, "\x0a\2\0\0", 4);
	netlink_put(m, RTA_GATEWAY, "\x0a\1\0\1", 4);
	netlink_put_u32(m, RTA_OIF, index);
	set_length(m);
}

static void make_neighbour(struct netlink_message *m, int index)
{
	const struct ndmsg head = {
		.ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};

	netlink_begin(m, RTM_NEWNEIGH, 0, &head, sizeof(head));
	netlink_put(m, NDA_DST, "\x0a\1\0\1", 4);
	netlink_put(m, NDA_LLADDR, "\xee\xee\xee\xee\xee\xee", 6);
	set_length(m);
}

/* Each byte is an allocation of its own, so that a sanitizer sees a read beyond the end. */
static int take_bytes(struct netns *netns, const uint8_t *data, size_t len, struct error *err)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct netlink_bytes datagram = {copy, len};
	struct netlink_reply reply;
	int rc = 0;

	memcpy(copy, data, len);
	while (rc == 0 && netlink_next(&datagram, &reply))
		rc = netns_take(netns, &reply, err);
	free(copy);
	return rc;
}

static int take_message(struct netns *netns, const struct netlink_message *m, struct error *err)
{
	return take_bytes(netns, m->bytes, m->len, err);
}

static struct netns *with_link(void)
{
	struct netns *netns = calloc(1, sizeof(*netns));
	struct netlink_message m;
	struct error err = {0};

	make_link(&m, 2, "eth0", IFF_UP);
	assert_ok(take_message(netns, &m, &err));
	return netns;
}

/* A kernel accepts any bytes for a name, and JSON does not. */
static const char no_text[] = "network: name is not valid UTF-8";

static void short_and_changed_messages(void **state)
{
	struct netlink_message messages[4];
	struct error err = {0};

	(void)state;
	make_link(&messages[0], 3, "net1", IFF_UP);
	make_address(&messages[1], 2);
	make_route(&messages[2], 2);
	make_neighbour(&messages[3], 2);
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		for (uint32_t len = 16; len <= messages[i].len; len++) {
			struct netlink_message cut = messages[i];
			autofree struct netns *netns = with_link();

			memcpy(cut.bytes, &len, sizeof(len));
			assert_ok(take_bytes(netns, cut.bytes, len, &err));
		}
		for (size_t at = 0; at < messages[i].len; at++)
			for (unsigned v = 0; v < 256; v += 5) {
				struct netlink_message changed = messages[i];
				autofree struct netns *netns = with_link();

				changed.bytes[at] = (uint8_t)v;
				(void)take_message(netns, &changed, &err);
				assert_in_range(netns->nlinks, 1, 2);
				json_auto_t *document = netns_document(netns, &err);
				if (!document)
					assert_string_equal(err.msg, no_text);
			}
	}
}

static void no_more_than_there_is_room_for(void **state)
{
	struct netlink_message m;
	struct error err = {0};
	autofree struct netns *netns = with_link();

	(void)state;
	make_address(&m, 2);
	for (int i = 0; i < NETNS_ADDRESSES_MAX; i++)
		assert_ok(take_message(netns, &m, &err));
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_string_equal(
		err.msg,
		"eth0: there are more than 32 addresses, and a machine can have no more: remove some");
	make_route(&m, 2);
	for (int i = 0; i < NETNS_ROUTES_MAX; i++)
		assert_ok(take_message(netns, &m, &err));
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_non_null(strstr(err.msg, "eth0: there are more than 256 routes"));
	make_neighbour(&m, 2);
	for (int i = 0; i < NETNS_NEIGHBOURS_MAX; i++)
		assert_ok(take_message(netns, &m, &err));
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_non_null(strstr(err.msg, "eth0: there are more than 256 neighbours"));
	for (int i = 1; i < NETNS_LINKS_MAX; i++) {
		make_link(&m, 2 + i, "net", IFF_UP);
		assert_ok(take_message(netns, &m, &err));
	}
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_non_null(strstr(err.msg, "more than 16 links that are up"));
	assert_code(err, ERR_UNSUPPORTED);
}

static void what_cannot_be_handed_on(void **state)
{
	autofree struct netns *netns = with_link();
	struct netlink_message m;
	struct error err = {0};

	(void)state;
	netlink_begin(&m, RTM_NEWROUTE, 0, &route_head, sizeof(route_head));
	netlink_put(&m, RTA_DST, "\x0a\2\0\0", 4);
	netlink_put(&m, RTA_MULTIPATH, NULL, 0);
	set_length(&m);
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_string_equal(
		err.msg,
		"the route to 10.2.0.0/24 has several next hops, which a machine cannot be given: make the container's network without it");
	make_route(&m, 2);
	netlink_put(&m, RTA_ENCAP, NULL, 0);
	set_length(&m);
	assert_int_equal(take_message(netns, &m, &err), -1);
	assert_non_null(strstr(err.msg, "an encapsulation"));
	make_address(&m, 2);
	assert_ok(take_message(netns, &m, &err));
	netns->links[0].ethernet = false;
	assert_int_equal(netns_settle(netns, &err), -1);
	assert_non_null(strstr(
		err.msg,
		"the link eth0 of the container's network namespace is not an Ethernet link"));
}

static void an_interrupted_dump(void **state)
{
	autofree struct netns *netns = with_link();
	struct netlink_message m;
	struct error err = {0};

	(void)state;
	make_address(&m, 2);
	m.bytes[6] |= NLM_F_DUMP_INTR;
	assert_int_equal(netlink_take(bytes_of(&m), 0, netns_take, netns, &err), -1);
	assert_int_equal(err.errnum, EINTR);
	make_address(&m, 2);
	assert_int_equal(netlink_take(bytes_of(&m), 8, netns_take, netns, &err), 1);
	assert_int_equal(netns->links[0].naddresses, 0); /* an answer to another */
	assert_int_equal(netlink_take(bytes_of(&m), 0, netns_take, netns, &err), 1);
	assert_int_equal(netns->links[0].naddresses, 1);
	m.len -= 4;
	assert_int_equal(netlink_take(bytes_of(&m), 0, netns_take, netns, &err), -1);
	assert_non_null(strstr(err.msg, "incomplete"));
}

/* --- a namespace ----------------------------------------------------------------------------- */

/* As Calico leaves a namespace, with a second link as of a further network. Other things are not
 * passed on: a link that is down, one without an address, routes of another table and to
 * nowhere. */
static void fill_namespace(void)
{
	run("ip link set eth0 addrgenmode eui64");
	run("ip address add 10.1.0.2/32 dev eth0 && ip address add 2001:db8:1::2/128 dev eth0 "
	    "nodad");
	run("ip route add 169.254.1.1 dev eth0 scope link");
	run("ip route add default via 169.254.1.1 dev eth0");
	run("ip route add 10.9.0.0/16 via 192.0.2.1 dev eth0 onlink metric 7 mtu 1300 "
	    "src 10.1.0.2");
	run("ip -6 route add default via fe80::1 dev eth0 metric 50");
	run("ip neighbour add 169.254.1.1 lladdr ee:ee:ee:ee:ee:ee nud permanent dev eth0");
	run("ip neighbour add 169.254.1.9 lladdr ee:ee:ee:ee:ee:e9 nud stale dev eth0");
	run("ip -6 neighbour add fe80::1 lladdr ee:ee:ee:ee:ee:e1 nud permanent dev eth0");
	run("ip route add 10.77.0.0/16 via 169.254.1.1 dev eth0 table 7");
	run("ip route add blackhole 10.78.0.0/16");
	run("ip link add net1 address 02:00:00:00:00:01 type veth peer name other");
	run("ip link set net1 mtu 9000 up && ip address add 10.2.0.2/24 dev net1");
	run("ip link set other up && ip link add idle type veth peer name alone");
	run("ip address add 10.3.0.2/24 dev idle && ip link set alone addrgenmode none up");
}

static const char *const expected =
	"{\"interfaces\": [{\"name\": \"eth0\", \"mac\": \"" NEAR_MAC "\", \"mtu\": 1400,"
	" \"addresses\": [\"10.1.0.2/32\", \"2001:db8:1::2/128\"], \"routes\": ["
	"{\"to\": \"0.0.0.0/0\", \"via\": \"169.254.1.1\"},"
	"{\"to\": \"10.9.0.0/16\", \"via\": \"192.0.2.1\", \"source\": \"10.1.0.2\","
	" \"onlink\": true, \"metric\": 7, \"mtu\": 1300},"
	"{\"to\": \"169.254.1.1/32\", \"scope\": \"link\"},"
	"{\"to\": \"2001:db8:1::2/128\", \"metric\": 256},"
	"{\"to\": \"::/0\", \"via\": \"fe80::1\", \"metric\": 50}],"
	" \"neighbours\": ["
	"{\"address\": \"169.254.1.1\", \"mac\": \"ee:ee:ee:ee:ee:ee\"},"
	"{\"address\": \"fe80::1\", \"mac\": \"ee:ee:ee:ee:ee:e1\"}]},"
	"{\"name\": \"net1\", \"mac\": \"02:00:00:00:00:01\", \"mtu\": 9000,"
	" \"addresses\": [\"10.2.0.2/24\"], \"routes\": ["
	"{\"to\": \"10.2.0.0/24\", \"source\": \"10.2.0.2\", \"scope\": \"link\"}],"
	" \"neighbours\": []}]}";

static int by_text(const void *a, const void *b)
{
	autofree char *left = json_dumps(*(json_t *const *)a, JSON_COMPACT | JSON_SORT_KEYS);
	autofree char *right = json_dumps(*(json_t *const *)b, JSON_COMPACT | JSON_SORT_KEYS);

	return strcmp(left, right);
}

/* In an order that the test gives, since the kernel's is its own. */
static void sort_list(json_t *list)
{
	size_t count = json_array_size(list);
	json_t *items[64];

	REQUIRE(count <= ARRAY_SIZE(items));
	for (size_t i = 0; i < count; i++)
		items[i] = json_incref(json_array_get(list, i));
	qsort(items, count, sizeof(*items), by_text);
	json_array_clear(list);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, items[i]);
}

static void sort_document(json_t *document)
{
	json_t *list = json_object_get(document, "interfaces");

	for (size_t i = 0; i < json_array_size(list); i++) {
		sort_list(json_object_get(json_array_get(list, i), "routes"));
		sort_list(json_object_get(json_array_get(list, i), "neighbours"));
	}
	sort_list(list);
}

static void a_namespace_is_read(struct line line)
{
	json_auto_t *wanted = json_loads(expected, 0, NULL);
	char where[128] = "";
	struct error err = {0};

	(void)line;
	fill_namespace();
	autofree struct netns *netns = netns_read(&err);
	REQUIRE(netns);
	json_auto_t *document = netns_document(netns, &err);
	REQUIRE(document && wanted);
	sort_document(document);
	sort_document(wanted);
	if (json_first_difference(document, wanted, where, sizeof(where)) != 0) {
		autofree char *text = json_dumps(document, JSON_INDENT(1));

		fprintf(stderr, "%s in %s\n", where, text);
		_exit(WRONG);
	}
}

static void a_namespace_with_nothing(struct line line)
{
	struct error err = {0};

	(void)line;
	autofree struct netns *netns = netns_read(&err);
	REQUIRE(netns && netns->nlinks == 0);
	json_auto_t *document = netns_document(netns, &err);
	REQUIRE(json_is_array(json_object_get(document, "interfaces")));
}

IN_NAMESPACES(a_namespace_is_read)
IN_NAMESPACES(a_namespace_with_nothing)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_found),
		cmocka_unit_test(lengths_that_lie),
		cmocka_unit_test(a_request_without_room_is_not_sent),
		cmocka_unit_test(the_kernel_says_what_is_wrong),
		cmocka_unit_test(short_and_changed_messages),
		cmocka_unit_test(no_more_than_there_is_room_for),
		cmocka_unit_test(what_cannot_be_handed_on),
		cmocka_unit_test(an_interrupted_dump),
		cmocka_unit_test(a_namespace_is_read_test),
		cmocka_unit_test(a_namespace_with_nothing_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
