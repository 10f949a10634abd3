/* SPDX-License-Identifier: MIT */
/* Tests which frames of a guest get through: destinations, and frames with false fields. */
#include "test_netgate.h"

static struct screen screen;

static int setup(void **state)
{
	(void)state;
	screen_of_guest(&screen);
	return 0;
}

static enum verdict judge(struct frame f)
{
	/* Makes a copy of exactly that length, so that the sanitizer sees a read beyond it. */
	uint8_t *copy = malloc(f.len ? f.len : 1);
	struct flow_key key;

	memcpy(copy, f.bytes, f.len);
	enum verdict v = screen_frame(&screen, copy, f.len, &key);
	free(copy);
	return v;
}

static void allow(uint32_t address, unsigned bits)
{
	screen.prefixes.allow[screen.prefixes.nallow++] = (struct prefix){address, bits};
}

static void own(uint32_t address, unsigned bits)
{
	screen.prefixes.own[screen.prefixes.nown++] = (struct prefix){address, bits};
}

static void link_of_host(uint32_t address, unsigned bits)
{
	screen.prefixes.link[screen.prefixes.nlink++] = (struct prefix){address, bits};
}

/* --- destinations ---------------------------------------------------------------------------- */

static void the_internet_is_open(void **state)
{
	(void)state;
	assert_int_equal(judge(tcp(PUBLIC, 443, 2)), VERDICT_PASS);
	assert_int_equal(judge(udp(PUBLIC, 53)), VERDICT_PASS);
	assert_int_equal(judge(echo_request(PUBLIC)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(172, 32, 0, 1), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(100, 128, 0, 1), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(192, 169, 0, 1), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(223, 255, 255, 255), 80, 2)), VERDICT_PASS);
}

static void what_is_not_public_is_shut(void **state)
{
	static const uint32_t shut[] = {
		ADDRESS(0, 0, 0, 0),	    ADDRESS(0, 255, 255, 255),
		ADDRESS(10, 0, 0, 1),	    ADDRESS(10, 0, 2, 2),
		ADDRESS(10, 0, 2, 15),	    ADDRESS(10, 255, 255, 255),
		ADDRESS(100, 64, 0, 0),	    ADDRESS(100, 127, 255, 255),
		ADDRESS(127, 0, 0, 1),	    ADDRESS(127, 255, 255, 255),
		ADDRESS(168, 63, 129, 16),  ADDRESS(169, 254, 169, 254),
		ADDRESS(172, 16, 0, 1),	    ADDRESS(172, 31, 255, 255),
		ADDRESS(192, 0, 0, 192),    ADDRESS(192, 168, 0, 1),
		ADDRESS(192, 88, 99, 1),    ADDRESS(198, 18, 0, 0),
		ADDRESS(198, 19, 255, 255), ADDRESS(192, 168, 255, 255),
		ADDRESS(224, 0, 0, 1),	    ADDRESS(239, 255, 255, 255),
		ADDRESS(240, 0, 0, 1),	    ADDRESS(255, 255, 255, 255),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shut) / sizeof(*shut); i++) {
		assert_int_equal(judge(tcp(shut[i], 80, 2)), VERDICT_REFUSE);
		assert_int_equal(judge(tcp(shut[i], 80, 0x10)), VERDICT_REFUSE);
		assert_int_equal(judge(udp(shut[i], 123)), VERDICT_REFUSE);
		assert_int_equal(judge(echo_request(shut[i])), VERDICT_REFUSE);
	}
}

static void dns_is_udp_53_to_one_address(void **state)
{
	(void)state;
	assert_int_equal(judge(dns_query(0)), VERDICT_PASS);
	assert_int_equal(judge(udp(DNS, 53)), VERDICT_REFUSE);
	assert_int_equal(judge(udp(DNS, 54)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(DNS, 53, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(echo_request(DNS)), VERDICT_REFUSE);
	assert_int_equal(judge(udp(ADDRESS(10, 0, 2, 2), 53)), VERDICT_REFUSE);
}

/* Another protocol at that port, for whoever serves it, is not let out. */
static void only_a_query_of_dns_is_one(void **state)
{
	enum { AT = 34 + 8, ANSWERS = 6, EXTRA = 10, NAME = 12, BEHIND = 22 };
	static const uint8_t opt[] = {0, 0, 41, 4, 208, 0, 0, 128, 0, 0, 4, 0, 3, 0, 0};
	static const uint8_t shut_flags[] = {0x80, 0x08, 0x10, 0x78, 0x04, 0x02};
	static const uint8_t other_flags[] = {0x80, 0x40, 0x01, 0x0f};
	struct frame f;

	(void)state;
	for (size_t i = 0; i < sizeof(shut_flags); i++) {
		f = dns_query(0);
		f.bytes[AT + 2] |= shut_flags[i];
		assert_int_equal(judge(f), VERDICT_REFUSE);
	}
	for (size_t i = 0; i < sizeof(other_flags); i++) {
		f = dns_query(0);
		f.bytes[AT + 3] |= other_flags[i];
		assert_int_equal(judge(f), VERDICT_REFUSE);
	}
	f = dns_query(0);
	f.bytes[AT + 3] |= 0x30; /* what DNSSEC asks for */
	assert_int_equal(judge(f), VERDICT_PASS);
	for (size_t count = 4; count < NAME; count += 2) {
		f = dns_query(0);
		put16(f.bytes + AT + count, 2);
		assert_int_equal(judge(f), VERDICT_REFUSE);
	}
	f = dns_query(0);
	f.bytes[AT + NAME] = 0xc0; /* a pointer */
	assert_int_equal(judge(f), VERDICT_REFUSE);
	f.bytes[AT + NAME] = 40; /* a label that is longer than all */
	assert_int_equal(judge(f), VERDICT_REFUSE);
	assert_int_equal(judge(dns_query(1)), VERDICT_REFUSE);
	f = dns_query(sizeof(opt));
	memcpy(f.bytes + AT + BEHIND, opt, sizeof(opt));
	assert_int_equal(judge(f), VERDICT_REFUSE); /* nothing announces it */
	f.bytes[AT + EXTRA + 1] = 1;
	assert_int_equal(judge(f), VERDICT_PASS);
	f.bytes[AT + BEHIND + 2] = 1; /* an address */
	assert_int_equal(judge(f), VERDICT_REFUSE);
	for (size_t cut = 0; cut < BEHIND; cut++) {
		f = dns_query(0);
		put16(f.bytes + 38, (unsigned)(8 + cut));
		assert_int_equal(judge(f), VERDICT_REFUSE);
	}
}

static void the_hosts_own_addresses_are_shut(void **state)
{
	(void)state;
	own(ADDRESS(192, 0, 2, 2), 32);
	own(ADDRESS(203, 0, 113, 0), 24);
	assert_int_equal(judge(tcp(ADDRESS(192, 0, 2, 2), 22, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(192, 0, 2, 1), 22, 2)), VERDICT_PASS);
	assert_int_equal(judge(udp(ADDRESS(203, 0, 113, 255), 9)), VERDICT_REFUSE);
	assert_int_equal(judge(udp(ADDRESS(203, 0, 114, 0), 9)), VERDICT_PASS);
}

static void allow_opens_a_prefix(void **state)
{
	(void)state;
	allow(ADDRESS(192, 168, 7, 0), 24);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 200), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 8, 1), 80, 2)), VERDICT_REFUSE);
	allow(0, 0);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 8, 1), 80, 2)), VERDICT_PASS);
}

static void secrets_of_clouds_stay_shut(void **state)
{
	static const uint32_t all[] = {ADDRESS(169, 254, 0, 1), ADDRESS(169, 254, 169, 254),
				       ADDRESS(168, 63, 129, 16), ADDRESS(100, 100, 100, 200),
				       ADDRESS(192, 0, 0, 192)};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		allow(all[i], 32);
		allow(all[i], 16);
	}
	allow(0, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(judge(tcp(all[i], 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(100, 100, 100, 201), 80, 2)), VERDICT_PASS);
}

/* A LAN with public addresses is a LAN. Any prefix of `allow` opens what it covers of it. */
static void the_hosts_links_are_shut(void **state)
{
	(void)state;
	link_of_host(ADDRESS(203, 0, 113, 2), 24);
	link_of_host(ADDRESS(192, 0, 2, 9), 32);
	own(ADDRESS(203, 0, 113, 2), 32);
	assert_int_equal(judge(tcp(ADDRESS(203, 0, 113, 1), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(udp(ADDRESS(203, 0, 113, 1), 53)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(192, 0, 2, 9), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(192, 0, 2, 8), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(203, 0, 114, 1), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(dns_query(0)), VERDICT_PASS);
	allow(ADDRESS(203, 0, 113, 0), 25);
	assert_int_equal(judge(tcp(ADDRESS(203, 0, 113, 1), 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(203, 0, 113, 129), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(203, 0, 113, 2), 80, 2)), VERDICT_REFUSE);
}

/* A prefix that opens a LAN does not open this host. */
static void the_host_itself_is_opened_by_name_only(void **state)
{
	(void)state;
	own(ADDRESS(192, 168, 7, 5), 32);
	allow(ADDRESS(192, 168, 7, 5), 32);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 5), 80, 2)), VERDICT_PASS);
	screen.prefixes.nallow = 0;
	allow(ADDRESS(192, 168, 7, 0), 24);
	allow(0, 0);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 5), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(127, 0, 0, 1), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(0, 0, 0, 0), 80, 2)), VERDICT_REFUSE);
	/* Records after the counted ones are ignored. */
	allow(ADDRESS(192, 168, 7, 5), 32);
	screen.prefixes.nallow--;
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 5), 80, 2)), VERDICT_REFUSE);
	screen.prefixes.nallow = 1;
	allow(ADDRESS(192, 168, 9, 0), 24);
	screen.prefixes.nallow--;
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 9, 1), 80, 2)), VERDICT_REFUSE);
	allow(0, 0);
	/* Only the address itself is a name for it. */
	allow(ADDRESS(192, 168, 7, 4), 32);
	allow(ADDRESS(192, 168, 7, 5), 31);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 5), 80, 2)), VERDICT_REFUSE);
	allow(ADDRESS(192, 168, 7, 5), 32);
	assert_int_equal(judge(tcp(ADDRESS(192, 168, 7, 5), 80, 2)), VERDICT_PASS);
}

static void the_hosts_prefixes_come_as_messages(void **state)
{
	struct prefix_wire wire[2] = {{htonl(ADDRESS(8, 8, 8, 8)), htonl(32), htonl(PREFIX_OWN)},
				      {0, htonl(33), htonl(PREFIX_OWN)}};
	static uint8_t many[(PREFIXES_HOST_MAX + 1) * sizeof(struct prefix_wire)];

	(void)state;
	assert_true(prefixes_take_host(&screen.prefixes, wire, sizeof(*wire)));
	assert_int_equal(judge(tcp(PUBLIC, 80, 2)), VERDICT_REFUSE);
	assert_false(prefixes_take_host(&screen.prefixes, wire, sizeof(wire)));
	assert_false(prefixes_take_host(&screen.prefixes, wire, sizeof(*wire) - 1));
	assert_false(prefixes_take_host(&screen.prefixes, wire, 0));
	assert_false(prefixes_take_host(&screen.prefixes, many, sizeof(many)));
	assert_int_equal(judge(tcp(PUBLIC, 80, 2)), VERDICT_REFUSE);
	wire[1] = (struct prefix_wire){0, htonl(24), htonl(PREFIX_ON_LINK + 1)};
	assert_false(prefixes_take_host(&screen.prefixes, wire, sizeof(wire)));
	wire[1] =
		(struct prefix_wire){htonl(ADDRESS(9, 9, 9, 5)), htonl(24), htonl(PREFIX_ON_LINK)};
	assert_true(prefixes_take_host(&screen.prefixes, wire, sizeof(wire)));
	assert_int_equal(judge(tcp(PUBLIC, 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(9, 9, 9, 9), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(1, 1, 1, 1), 80, 2)), VERDICT_PASS);
	/* Of the two kinds a prefix opens only neighbours. */
	allow(ADDRESS(8, 0, 0, 0), 7);
	assert_int_equal(judge(tcp(PUBLIC, 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(tcp(ADDRESS(9, 9, 9, 9), 80, 2)), VERDICT_PASS);
	screen.prefixes.nallow = 0;
	assert_true(prefixes_take_host(&screen.prefixes, wire + 1, sizeof(*wire)));
	assert_int_equal(judge(tcp(PUBLIC, 80, 2)), VERDICT_PASS);
	assert_int_equal(judge(tcp(ADDRESS(9, 9, 9, 9), 80, 2)), VERDICT_REFUSE);
	wire[0] = (struct prefix_wire){0, 0, htonl(PREFIX_OWN)};
	assert_true(prefixes_take_host(&screen.prefixes, wire, sizeof(*wire)));
	assert_int_equal(judge(tcp(ADDRESS(9, 9, 9, 9), 80, 2)), VERDICT_REFUSE);
	assert_int_equal(judge(dns_query(0)), VERDICT_PASS);
}

/* --- frames that lie ------------------------------------------------------------------------- */

static void a_frame_that_is_cut_anywhere_is_dropped(void **state)
{
	struct frame whole[] = {tcp(PUBLIC, 80, 2), udp(PUBLIC, 80), echo_request(PUBLIC),
				arp(GUEST)};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		size_t len = whole[i].len;

		assert_int_equal(judge(whole[i]), VERDICT_PASS);
		for (whole[i].len = 0; whole[i].len < len; whole[i].len++)
			assert_int_equal(judge(whole[i]), VERDICT_DROP);
		whole[i].len = len + 18; /* padding is fine */
		assert_int_equal(judge(whole[i]), VERDICT_PASS);
	}
}

static void wrong_lengths_are_dropped(void **state)
{
	struct frame f;

	(void)state;
	for (unsigned total = 0; total < 0x10000; total++) {
		f = tcp(PUBLIC, 80, 2);
		put16(f.bytes + 16, total);
		assert_int_equal(judge(f), total == 40 ? VERDICT_PASS : VERDICT_DROP);
	}
	for (unsigned len = 0; len < 0x10000; len++) {
		f = udp(PUBLIC, 80);
		put16(f.bytes + 38, len);
		assert_int_equal(judge(f), len >= 8 && len <= 12 ? VERDICT_PASS : VERDICT_DROP);
	}
	f = ipv4(17, PUBLIC, 8); /* a datagram of nothing */
	put16(f.bytes + 38, 8);
	assert_int_equal(judge(f), VERDICT_PASS);
	for (unsigned offset = 0; offset < 16; offset++) {
		f = tcp(PUBLIC, 80, 2);
		f.bytes[46] = (uint8_t)(offset << 4);
		assert_int_equal(judge(f), offset == 5 ? VERDICT_PASS : VERDICT_DROP);
	}
}

static void options_and_other_versions_are_dropped(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 256; first++) {
		struct frame f = tcp(PUBLIC, 80, 2);

		f.bytes[14] = (uint8_t)first;
		assert_int_equal(judge(f), first == 0x45 ? VERDICT_PASS : VERDICT_DROP);
	}
}

static void fragments_are_dropped(void **state)
{
	static const unsigned fields[] = {0x2000, 0x0001, 0x1fff, 0x2001, 0x8000, 0xe000, 0x6000};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct frame f = tcp(PUBLIC, 80, 2);

		put16(f.bytes + 20, fields[i]);
		assert_int_equal(judge(f), VERDICT_DROP);
	}
}

static void another_sender_is_dropped(void **state)
{
	struct frame f = tcp(PUBLIC, 80, 2);

	(void)state;
	put32(f.bytes + 26, ADDRESS(10, 0, 2, 16));
	assert_int_equal(judge(f), VERDICT_DROP);
	f = tcp(PUBLIC, 80, 2);
	f.bytes[11] ^= 1;
	assert_int_equal(judge(f), VERDICT_DROP);
	f = arp(ADDRESS(10, 0, 2, 2));
	assert_int_equal(judge(f), VERDICT_DROP);
	f = arp(GUEST);
	f.bytes[22] ^= 1;
	assert_int_equal(judge(f), VERDICT_DROP);
	assert_int_equal(judge(arp(0)), VERDICT_PASS);
}

/* Each field that says which kind of ARP it is. */
static void other_kinds_of_arp_are_dropped(void **state)
{
	(void)state;
	for (size_t offset = 14; offset < 22; offset++)
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			struct frame f = arp(GUEST);

			f.bytes[offset] ^= (uint8_t)bit;
			assert_int_equal(judge(f), VERDICT_DROP);
		}
}

static void other_protocols_are_dropped(void **state)
{
	static const unsigned types[] = {0x86dd, 0x8100, 0x88a8, 0x9100, 0x8847, 0x88cc, 0, 1500};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct frame f = tcp(PUBLIC, 80, 2);

		put16(f.bytes + 12, types[i]);
		assert_int_equal(judge(f), VERDICT_DROP);
	}
	for (unsigned protocol = 0; protocol < 256; protocol++) {
		struct frame f = ipv4((uint8_t)protocol, PUBLIC, 20);

		if (protocol != 6 && protocol != 17 && protocol != 1)
			assert_int_equal(judge(f), VERDICT_DROP);
	}
	for (unsigned type = 0; type < 256; type++) {
		struct frame f = echo_request(PUBLIC);

		f.bytes[34] = (uint8_t)type;
		assert_int_equal(judge(f), type == 8 ? VERDICT_PASS : VERDICT_DROP);
		f = echo_request(PUBLIC);
		f.bytes[35] = (uint8_t)type;
		assert_int_equal(judge(f), type == 0 ? VERDICT_PASS : VERDICT_DROP);
	}
}

/* A tag before the real type must not carry an address past the filter. */
static void a_tagged_frame_is_dropped(void **state)
{
	struct frame f = tcp(ADDRESS(127, 0, 0, 1), 80, 2);

	(void)state;
	memmove(f.bytes + 16, f.bytes + 12, f.len - 12);
	f.len += 4;
	put16(f.bytes + 12, 0x8100);
	put16(f.bytes + 14, 1);
	assert_int_equal(judge(f), VERDICT_DROP);
}

static void the_key_tells_the_connection(void **state)
{
	struct frame f = tcp(PUBLIC, 443, 2);
	struct flow_key key;

	(void)state;
	screen_frame(&screen, f.bytes, f.len, &key);
	assert_true(key.opening);
	assert_int_equal(key.protocol, 6);
	assert_int_equal(key.guest_port, 40000);
	assert_int_equal(key.port, 443);
	assert_int_equal(key.address, PUBLIC);
	f = tcp(PUBLIC, 443, 0x12);
	screen_frame(&screen, f.bytes, f.len, &key);
	assert_false(key.opening);
	f = udp(PUBLIC, 54);
	screen_frame(&screen, f.bytes, f.len, &key);
	assert_true(key.opening);
	assert_int_equal(key.guest_port, 40001);
	assert_int_equal(key.port, 54);
	f = echo_request(PUBLIC);
	screen_frame(&screen, f.bytes, f.len, &key);
	assert_true(key.opening);
	assert_int_equal(key.protocol, 1);
	assert_int_equal(key.guest_port, 7);
	assert_int_equal(key.port, 0);
	assert_int_equal(key.address, PUBLIC);
	/* A dropped frame belongs to no connection. */
	put16(f.bytes + 16, 27);
	assert_int_equal(screen_frame(&screen, f.bytes, f.len, &key), VERDICT_DROP);
	assert_int_equal(key.protocol, 0);
	f = arp(GUEST);
	screen_frame(&screen, f.bytes, f.len, &key);
	assert_int_equal(key.protocol, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_internet_is_open, setup),
		cmocka_unit_test_setup(what_is_not_public_is_shut, setup),
		cmocka_unit_test_setup(dns_is_udp_53_to_one_address, setup),
		cmocka_unit_test_setup(the_hosts_own_addresses_are_shut, setup),
		cmocka_unit_test_setup(the_hosts_links_are_shut, setup),
		cmocka_unit_test_setup(allow_opens_a_prefix, setup),
		cmocka_unit_test_setup(secrets_of_clouds_stay_shut, setup),
		cmocka_unit_test_setup(only_a_query_of_dns_is_one, setup),
		cmocka_unit_test_setup(the_host_itself_is_opened_by_name_only, setup),
		cmocka_unit_test_setup(the_hosts_prefixes_come_as_messages, setup),
		cmocka_unit_test_setup(a_frame_that_is_cut_anywhere_is_dropped, setup),
		cmocka_unit_test_setup(wrong_lengths_are_dropped, setup),
		cmocka_unit_test_setup(options_and_other_versions_are_dropped, setup),
		cmocka_unit_test_setup(fragments_are_dropped, setup),
		cmocka_unit_test_setup(another_sender_is_dropped, setup),
		cmocka_unit_test_setup(other_kinds_of_arp_are_dropped, setup),
		cmocka_unit_test_setup(other_protocols_are_dropped, setup),
		cmocka_unit_test_setup(a_tagged_frame_is_dropped, setup),
		cmocka_unit_test_setup(the_key_tells_the_connection, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
