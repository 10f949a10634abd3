/* SPDX-License-Identifier: MIT */
/* Tests the lines about connections if the filter goes by names. */
#include "words_fixture.h"

/* Each connection gets its line, whatever program or TCP of its own the guest has. A connection
 * with another number is another one. So is one with the same number after an end of the earlier
 * one, by either side. */
static void connections_of_the_same_ports(void **state)
{
	enum { TIMES = 8 };
	static const char line[] = "tcp 10.0.2.15:40000 -> 151.101.0.223:8443 x.org";
	struct bed *b = *state;

	allow(b, "x.org:8443");
	resolve(b, "x.org", SITE);
	expect_told(b, "dns x.org A");
	for (uint32_t i = 0; i < TIMES; i++) {
		assert_true(passes(b, call_from(SITE, 8443, 1000 * i)));
		expect_told(b, line);
		assert_true(passes(b, call_from(SITE, 8443, 1000 * i)));
		expect_told(b, NULL);
	}
	for (int i = 0; i < 3; i++) {
		static const uint8_t ends[] = {TCP_FIN | ACK, TCP_RST, TCP_RST | ACK};
		struct frame end = call_from(SITE, 8443, 5);

		end.bytes[47] = ends[i];
		assert_true(passes(b, end));
		assert_true(passes(b, call_from(SITE, 8443, 77)));
		expect_told(b, line);
		assert_true(comes_in(b, heard(SITE, 8443, SYN_ACK, 78)));
		assert_true(passes(b, call_from(SITE, 8443, 77)));
		expect_told(b, NULL);
	}
	assert_true(comes_in(b, heard(SITE, 8443, TCP_RST | ACK, 78)));
	assert_true(passes(b, call_from(SITE, 8443, 77)));
	expect_told(b, line);
	/* Refused connections get lines too. */
	for (uint32_t i = 0; i < TIMES; i++) {
		assert_false(passes(b, call_from(SITE, 22, 1000 * i)));
		expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:22 refused");
	}
}

/* Two names have one address. Only its words say which rule lets a connection through. */
static void names_that_share_an_address(void **state)
{
	static const char *const names[] = {"pypi.org", "files.x.org", "pypi.org"};
	static const char *const lines[] = {TCP_LINE "pypi.org", TCP_LINE "*.x.org",
					    TCP_LINE "pypi.org"};
	struct bed *b = *state;

	resolve(b, "files.x.org", SITE);
	expect_told(b, "dns files.x.org A");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct hello h = hello_of(names[i], 0);

		open_tls(b);
		assert_true(passes(b, say_hello(h, 0, h.len)));
		expect_told(b, lines[i]);
	}
}

/* Every opened connection has a line, even if it never sends a word. */
static void connections_that_say_nothing(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);

	open_tls(b);
	wait_for_words(b, 10 * SECOND - 1);
	expect_told(b, NULL);
	wait_for_words(b, 1);
	expect_told(b, NULL); /* it is looked once a second */
	wait_for_words(b, SECOND);
	expect_told(b, TCP_LINE "-");
	wait_for_words(b, 20 * SECOND);
	expect_told(b, NULL);
	/* The words come after all. */
	assert_true(passes(b, say_hello(h, 0, h.len)));
	expect_told(b, TCP_LINE "pypi.org");
	/* Another connection of the same ports, while it waits. */
	forget_frames(b);
	into_lane(&b->gate->out, call_from(SITE, 443, 5000));
	expect_told(b, NULL);
	into_lane(&b->gate->out, call_from(SITE, 443, 6000));
	expect_told(b, TCP_LINE "-");
	forget_frames(b);
	/* netgate ends while it waits. */
	by_name_tell_silent(b->gate, 0);
	expect_told(b, TCP_LINE "-");
	assert_int_equal(b->gate->flows.waiting, 0);
}

/* So many at once that some are forgotten before they have a line: those are counted. */
static void more_than_are_known(void **state)
{
	enum { CALLS = 20000, KNOWN = FLOW_BUCKETS * FLOW_WAYS };
	struct bed *b = *state;

	b->gate->teller.per_second = 0;
	for (unsigned i = 0; i < CALLS; i++)
		assert_true(passes(b, from_port(call_from(SITE, 443, i), 1024 + i)));
	assert_in_range(b->gate->flows.waiting, KNOWN / 2, KNOWN);
	by_name_tell_silent(b->gate, 0);
	assert_int_equal(b->gate->teller.unlisted, CALLS);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, words_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(connections_of_the_same_ports),
		WITH(names_that_share_an_address),
		WITH(connections_that_say_nothing),
		WITH(more_than_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
