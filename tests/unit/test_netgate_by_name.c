/* SPDX-License-Identifier: MIT */
/* Tests connections if the filter goes by names: which addresses may be called, and whose words are
 * let through. */
#include "by_name_fixture.h"

#define WORDS_AT (GUEST_STARTS + 1)

/* --- who may be called ----------------------------------------------------------------------- */

static void only_what_a_name_has_is_open(void **state)
{
	struct bed *b = *state;

	assert_false(passes(b, call_from(SITE, 443, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:443 refused");
	struct frame reset = {0};
	assert_true(to_guest(b, &reset));
	assert_int_equal(reset.bytes[47], 0x14);
	allow(b, "pypi.org:443,80,8443");
	resolve(b, "pypi.org", SITE);
	expect_told(b, "dns pypi.org A");
	assert_true(passes(b, call_from(SITE, 8443, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:8443 pypi.org");
	assert_true(passes(b, call_from(SITE, 8443, 1))); /* again, and told once */
	expect_told(b, NULL);
	assert_true(passes(b, call_from(SITE, 443, 1)));
	assert_true(passes(b, call_from(SITE, 80, 1)));
	expect_told(b, NULL); /* their first words say more */
	assert_false(passes(b, call_from(SITE, 22, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:22 refused");
	assert_false(passes(b, call_from(SITE + 1, 443, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.224:443 refused");
	/* ARP is not affected. */
	assert_true(passes(b, arp(GUEST)));
}

static void other_protocols_go_by_their_ports(void **state)
{
	struct bed *b = *state;

	allow(b, "*.x.org:443,80,123");
	resolve(b, "time.x.org", SITE);
	expect_told(b, "dns time.x.org A");
	assert_true(passes(b, udp(SITE, 123)));
	expect_told(b, "udp 10.0.2.15:40001 -> 151.101.0.223:123 *.x.org");
	assert_false(passes(b, udp(SITE, 443))); /* QUIC */
	expect_told(b, "udp 10.0.2.15:40001 -> 151.101.0.223:443 refused");
	assert_false(passes(b, udp(SITE, 80))); /* the same, and whom it is for is not to be seen */
	expect_told(b, "udp 10.0.2.15:40001 -> 151.101.0.223:80 refused");
	assert_false(passes(b, udp(SITE, 53)));
	expect_told(b, "udp 10.0.2.15:40001 -> 151.101.0.223:53 refused");
	assert_false(passes(b, echo_request(SITE)));
	expect_told(b, "icmp 10.0.2.15 -> 151.101.0.223 refused");
	/* The end of the address's pin concerns only new flows. A flow that goes on is not reported
	 * again. */
	b->gate->now += 200 * SECOND;
	assert_true(passes(b, udp(SITE, 123)));
	b->gate->now += 200 * SECOND;
	assert_true(passes(b, udp(SITE, 123)));
	b->gate->now += 301 * SECOND;
	assert_false(passes(b, udp(SITE, 123)));
}

/* Whatever a name says, a closed address stays closed. */
static void a_name_that_leads_inside(void **state)
{
	static const uint32_t inside[] = {ADDRESS(10, 0, 0, 1), ADDRESS(127, 0, 0, 1),
					  ADDRESS(169, 254, 169, 254), ADDRESS(192, 168, 1, 1)};
	struct bed *b = *state;
	struct prefixes *p = &b->gate->screen.prefixes;

	allow(b, "pypi.org");
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		resolve(b, "pypi.org", inside[i]);
		assert_false(passes(b, call_from(inside[i], 443, 1)));
	}
	p->own[p->nown++] = (struct prefix){SITE, 32};
	resolve(b, "pypi.org", SITE);
	assert_false(passes(b, call_from(SITE, 443, 1)));
	p->nown = 0;
	assert_true(passes(b, call_from(SITE, 443, 1)));
}

/* A datagram that came to the port of a question would tell the guest which port that is. */
static void datagrams_that_nobody_waits_for(void **state)
{
	struct bed *b = *state;
	struct frame f = udp(GUEST, 40001);

	memcpy(f.bytes, guest_mac, 6);
	put32(f.bytes + 26, SITE);
	put16(f.bytes + 34, 123);
	assert_false(comes_in(b, f));
	allow(b, "x.org:123");
	resolve(b, "x.org", SITE);
	assert_false(comes_in(b, f));
	assert_true(passes(b, udp(SITE, 123)));
	assert_true(comes_in(b, f));
	for (size_t i = 0; i < 3; i++) {
		static const size_t other[] = {29, 35, 37}; /* address, its port, the guest's */
		struct frame changed = f;

		changed.bytes[other[i]] ^= 1;
		assert_false(comes_in(b, changed));
	}
	b->gate->now += 300 * SECOND;
	assert_true(comes_in(b, f));
	b->gate->now++;
	assert_false(comes_in(b, f));
	/* A connection that a prefix opens, and one whose rule has gone. */
	allow(b, "151.101.0.0/24");
	assert_true(passes(b, udp(SITE, 123)));
	assert_true(comes_in(b, f));
	by_name_change(b->gate, false, "151.101.0.0/24");
	resolve(b, "x.org", SITE);
	assert_true(passes(b, udp(SITE, 123)));
	assert_true(comes_in(b, f));
	by_name_change(b->gate, false, "x.org:123");
	assert_false(comes_in(b, f));
	/* Frames of another kind go on as they are. */
	assert_true(comes_in(b, arp(GUEST)));
	f.bytes[23] = 1;
	assert_true(comes_in(b, f));
	f.bytes[23] = 17;
	b->gate->egress.dry = true;
	assert_true(comes_in(b, f));
}

static void prefixes_are_open_beside_names(void **state)
{
	struct bed *b = *state;
	struct prefixes *p = &b->gate->screen.prefixes;

	allow(b, "151.101.0.0/24");
	allow(b, "10.0.0.0/8");
	assert_true(passes(b, call_from(SITE, 22, 1)));
	assert_true(passes(b, say(SITE, 443, 5, "anything", 8)));
	assert_true(passes(b, udp(SITE, 443)));
	assert_false(passes(b, call_from(ADDRESS(151, 101, 1, 1), 22, 1)));
	/* Only for public addresses; `allow` decides the rest. */
	assert_false(passes(b, call_from(ADDRESS(10, 1, 1, 1), 22, 1)));
	p->allow[p->nallow++] = (struct prefix){ADDRESS(10, 1, 0, 0), 16};
	assert_true(passes(b, call_from(ADDRESS(10, 1, 1, 1), 53, 1)));
	by_name_change(b->gate, false, "151.101.0.0/24");
	assert_false(passes(b, say(SITE, 443, 5, "anything", 8)));
	assert_false(passes(b, call_from(SITE, 22, 1)));
}

static void a_call_with_words(void **state)
{
	struct bed *b = *state;
	struct frame f = say(SITE, 443, GUEST_STARTS, "words", 5);

	f.bytes[47] = SYN;
	allow(b, "pypi.org");
	resolve(b, "pypi.org", SITE);
	assert_false(passes(b, f));
}

static void a_connection_outlives_its_pin(void **state)
{
	struct bed *b = *state;

	allow(b, "x.org:8443");
	resolve(b, "x.org", SITE);
	connect_to(b, SITE, 8443);
	b->gate->now += 3600 * SECOND;
	assert_true(passes(b, say(SITE, 8443, WORDS_AT, "anything", 8)));
	b->gate->now += 3600 * SECOND;
	assert_true(passes(b, say(SITE, 8443, WORDS_AT + 8, "anything", 8)));
	assert_false(passes(b, call_from(SITE + 1, 8443, 1)));
	b->gate->now += 7201 * SECOND;
	struct frame f = say(SITE, 8443, WORDS_AT + 16, "anything", 8);
	forget_frames(b);
	into_lane(&b->gate->out, f);
	expect_end(b, f, WORDS_AT + 16, WORDS_AT + 24);
}

static void what_nobody_called_is_reset(void **state)
{
	struct bed *b = *state;
	struct frame f = say(SITE, 443, 77, "words", 5);

	allow(b, "pypi.org");
	resolve(b, "pypi.org", SITE);
	into_lane(&b->gate->out, f);
	expect_end(b, f, 77, 82);
	f.bytes[47] |= TCP_FIN;
	into_lane(&b->gate->out, f);
	expect_end(b, f, 77, 83);
	/* An end is not answered. */
	f.bytes[47] = TCP_RST | ACK;
	assert_false(passes(b, f));
	assert_false(to_guest(b, &f));
}

/* --- changes while it runs ------------------------------------------------------------------- */

static void a_rule_that_goes_takes_all_along(void **state)
{
	struct bed *b = *state;
	struct frame f = say(SITE, 8443, WORDS_AT, "words", 5);

	allow(b, "x.org:8443");
	allow(b, "y.org:8443");
	resolve(b, "x.org", SITE);
	resolve(b, "y.org", SITE + 1);
	connect_to(b, SITE, 8443);
	connect_to(b, SITE + 1, 8443);
	by_name_change(b->gate, false, "x.org"); /* other ports: another rule */
	assert_true(passes(b, f));
	by_name_change(b->gate, false, "X.org:8443");
	into_lane(&b->gate->out, f);
	expect_end(b, f, WORDS_AT, WORDS_AT + 5);
	assert_false(passes(b, call_from(SITE, 8443, 1)));
	assert_true(passes(b, say(SITE + 1, 8443, WORDS_AT, "words", 5)));
	/* When it comes again it is as before, except for the addresses. */
	allow(b, "x.org:8443");
	assert_false(passes(b, call_from(SITE, 8443, 1)));
	resolve(b, "x.org", SITE);
	connect_to(b, SITE, 8443);
	assert_true(passes(b, f));
}

static void changes_that_are_none(void **state)
{
	struct bed *b = *state;

	allow(b, "https://pypi.org");
	allow(b, "");
	allow(b, "10.0.0.1/8");
	by_name_change(b->gate, false, "never.there");
	by_name_change(b->gate, false, "9.9.9.9");
	for (int i = 0; i < EGRESS_NAMES_MAX; i++)
		assert_false(b->gate->egress.names.used[i]);
	assert_int_equal(b->gate->screen.prefixes.negress, 0);
	b->gate->screen.by_name = false;
	allow(b, "pypi.org");
	assert_false(b->gate->egress.names.used[0]);
}

/* --- dry ------------------------------------------------------------------------------------- */

static void a_dry_run_refuses_nothing(void **state)
{
	struct bed *b = *state;
	struct hello evil = hello_of("evil.example", 0);

	b->gate->egress.dry = true;
	allow(b, "pypi.org");
	assert_true(passes(b, call_from(SITE, 22, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:22 would refuse");
	assert_true(passes(b, say(SITE, 22, 2, "words", 5)));
	assert_true(passes(b, udp(SITE, 443)));
	expect_told(b, "udp 10.0.2.15:40001 -> 151.101.0.223:443 would refuse");
	assert_true(passes(b, question("evil.example", DNS_AAAA, 3)));
	expect_told(b, "dns evil.example AAAA would refuse");
	assert_true(passes(b, question("pypi.org", 65, 3)));
	expect_told(b, NULL);
	resolve(b, "pypi.org", SITE);
	expect_told(b, "dns pypi.org A");
	connect_to(b, SITE, 443);
	/* In two pieces, the second first. */
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 20, evil.bytes + 20, evil.len - 20)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT, evil.bytes, 20)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 20, evil.bytes + 20, evil.len - 20)));
	expect_told(b, "tls 10.0.2.15:40000 -> 151.101.0.223:443 evil.example would refuse");
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 500, "anything", 8)));
	expect_told(b, NULL);
	/* An address that is closed without names stays closed. */
	assert_false(passes(b, call_from(ADDRESS(10, 0, 0, 1), 22, 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 10.0.0.1:22 refused");
}

static void without_a_way_out(void **state)
{
	struct bed *b = *state;
	struct frame f;

	b->gate->passt = -1;
	allow(b, "pypi.org");
	into_lane(&b->gate->out, question("pypi.org", DNS_A, 1));
	into_lane(&b->gate->out, question("evil.example", DNS_A, 1));
	into_lane(&b->gate->out, call_from(SITE, 443, 1));
	into_lane(&b->gate->out, say(SITE, 443, 1, "words", 5));
	assert_false(to_passt(b, &f));
	assert_false(to_guest(b, &f));
	expect_told(b, "dns pypi.org A");
	expect_told(b, "dns evil.example A refused");
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:443 refused");
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(only_what_a_name_has_is_open),	WITH(other_protocols_go_by_their_ports),
		WITH(a_name_that_leads_inside),		WITH(datagrams_that_nobody_waits_for),
		WITH(prefixes_are_open_beside_names),	WITH(a_call_with_words),
		WITH(a_connection_outlives_its_pin),	WITH(what_nobody_called_is_reset),
		WITH(a_rule_that_goes_takes_all_along), WITH(changes_that_are_none),
		WITH(a_dry_run_refuses_nothing),	WITH(without_a_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
