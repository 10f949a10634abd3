/* SPDX-License-Identifier: MIT */
/* Tests DNS in both directions if the filter goes by names. */
#include "dns_fixture.h"

/* --- questions ------------------------------------------------------------------------------- */

static void names_off_the_list_do_not_leave(void **state)
{
	static const char *const names[] = {
		"evil.example",	 "x.org", "pypi.orgs",	   "www.pypi.org",
		"secret.a.b.cd", "org",	  "pypi.org.evil", ""};
	struct bed *b = *state;
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect_answered(b, question(names[i], DNS_A, 7), DNS_NO_SUCH_NAME);
		snprintf(line, sizeof(line), "dns %s A refused", *names[i] ? names[i] : "?");
		expect_told(b, line);
	}
	expect_answered(b, question("evil.example", DNS_A, 8), DNS_NO_SUCH_NAME);
	expect_told(b, NULL); /* once */
	expect_answered(b, question("evil.example", 16, 9), DNS_NO_SUCH_NAME);
	expect_told(b, "dns evil.example TXT refused");
	/* A name of one label, which only looks as if it were on the list. */
	struct frame f = question("pypi.org", DNS_A, 7);
	memcpy(f.bytes + 54, "\x08pypi.org", 9);
	expect_answered(b, f, DNS_NO_SUCH_NAME);
	expect_told(b, "dns pypi?org A refused");
	f = question("a\x1b[2J.x", DNS_A, 7);
	expect_answered(b, f, DNS_NO_SUCH_NAME);
	expect_told(b, "dns a??2j.x A refused");
	f = question("a\x01.x.org", DNS_A, 7);
	expect_answered(b, f, DNS_NO_SUCH_NAME);
	expect_told(b, "dns a?.x.org A refused");
	/* Of another class than the internet's. */
	f = question("pypi.org", DNS_A, 7);
	f.bytes[f.len - 1] = 3;
	expect_answered(b, f, DNS_NO_SUCH_NAME);
}

static void only_addresses_are_asked_for(void **state)
{
	static const unsigned types[] = {DNS_AAAA, 16, 65, 10, 255, 5, 2, 0};
	struct bed *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		expect_answered(b, question("pypi.org", types[i], 7), DNS_OK);
	expect_told(b, NULL);
	ask(b, "PyPI.org", 7);
	expect_told(b, "dns pypi.org A");
	ask(b, "a.b.x.org", 8);
	expect_told(b, "dns a.b.x.org A");
}

/* Bytes after the question go to no resolver unchanged. */
static void options_do_not_leave(void **state)
{
	enum { OPT = 11, OPTIONS = 12, SIZE = 3 };
	static const uint8_t opt[OPT + OPTIONS] = {0,	0,   41,      0x10, 0,	 's', 'e', 0xff,
						   'c', 0,   OPTIONS, 0,    8,	 0,   8,   's',
						   'e', 'c', 'r',     'e',  't', '!', '!'};
	struct bed *b = *state;
	static const struct {
		unsigned says, asks;
	} sizes[] = {{4096, 1200}, {1200, 1200}, {1199, 512}, {512, 512}, {77, 512}, {0, 512}};
	struct frame f = question("pypi.org", DNS_A, 7);
	size_t at = f.len;

	memcpy(f.bytes + f.len, opt, sizeof(opt));
	f.bytes[MESSAGE + 11] = 1;
	f.len += sizeof(opt);
	datagram_end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint8_t expected[OPT] = {0, 0, 41};

		put16(f.bytes + at + SIZE, sizes[i].says);
		put16(expected + SIZE, sizes[i].asks);
		asks(b, f);
		assert_int_equal(b->asked.len, at + OPT);
		assert_memory_equal(b->asked.bytes + at, expected, OPT);
	}
	/* Options whose first one is not complete. */
	f.bytes[at + 10] = 3;
	f.len -= OPTIONS - 3;
	datagram_end(&f);
	assert_false(passes(b, f));
}

static void so_many_questions_a_second(void **state)
{
	enum { RATE = 20, BURST = 60 };
	struct bed *b = *state;
	struct frame f = question("pypi.org", DNS_A, 7), out;

	for (int i = 0; i < BURST; i++)
		ask(b, "pypi.org", 7);
	into_lane(&b->gate->out, f);
	assert_false(to_passt(b, &out));
	assert_false(to_guest(b, &out)); /* it is asked again by whoever wants to know */
	for (int second = 0; second < 3; second++) {
		b->gate->now += SECOND;
		for (int i = 0; i < RATE; i++)
			ask(b, "pypi.org", 7);
		into_lane(&b->gate->out, f);
		assert_false(to_passt(b, &out));
	}
	/* A question that does not leave is not counted. */
	expect_answered(b, question("evil.example", DNS_A, 7), DNS_NO_SUCH_NAME);
}

/* passt uses IPv4's length, and would pass it on. */
static void bytes_behind_a_question(void **state)
{
	struct bed *b = *state;
	struct frame f = question("pypi.org", DNS_A, 7);

	memcpy(f.bytes + f.len, "secret", 6);
	f.len += 6;
	put16(f.bytes + 16, (unsigned)f.len - 14);
	assert_false(passes(b, f));
	expect_told(b, "udp 10.0.2.15:40001 -> 10.0.2.3:53 refused");
}

/* --- answers --------------------------------------------------------------------------------- */

static void an_answer_pins_its_addresses(void **state)
{
	struct bed *b = *state;
	struct frame f = answer_to("pypi.org", 7);

	add_address(&f, "PYPI.org", SITE, 300);
	add_address(&f, "pypi.org", SITE + 1, 300);
	add_address(&f, "other.org", SITE + 2, 300);
	ask(b, "PyPI.org", 7);
	assert_false(is_open(b, SITE));
	assert_int_equal(hears(b, f).len, f.len);
	assert_true(is_open(b, SITE));
	assert_true(is_open(b, SITE + 1));
	assert_false(is_open(b, SITE + 2));
}

static void a_name_of_names(void **state)
{
	struct bed *b = *state;
	struct frame f;
	char name[16], other[16];

	for (int length = 1; length <= 9; length++) {
		f = answer_to("pypi.org", 7);
		add_address(&f, "pypi.org", SITE + 100, 300); /* beside another name: none */
		add_address(&f, "n9", SITE + 99, 300);
		/* The last first. */
		for (int i = length - 1; i >= 0; i--) {
			snprintf(name, sizeof(name), "n%d", i);
			snprintf(other, sizeof(other), "N%d", i + 1);
			add_alias(&f, i ? name : "pypi.org", i + 1 == length ? "end" : other);
		}
		add_address(&f, "END", SITE + (uint32_t)length, 300);
		ask(b, "pypi.org", 7);
		assert_int_equal(code_of(hears(b, f)), length <= 8 ? DNS_OK : DNS_SERVER_FAILED);
		assert_int_equal(is_open(b, SITE + (uint32_t)length), length <= 8);
	}
	assert_false(is_open(b, SITE + 99));
	assert_false(is_open(b, SITE + 100));
	/* An alias that leads back to itself. */
	f = answer_to("pypi.org", 7);
	add_alias(&f, "pypi.org", "a");
	add_alias(&f, "a", "pypi.org");
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_SERVER_FAILED);
}

/* Makes a record whose name is these bytes. */
static struct frame with_owner(const void *name, size_t len)
{
	struct frame f = answer_to("pypi.org", 7);

	memcpy(f.bytes + f.len, name, len);
	memcpy(f.bytes + f.len + len, "\0\1\0\1\0\0\1\0\0\4", 10);
	put32(f.bytes + f.len + len + 10, SITE);
	f.len += len + 14;
	f.bytes[ANSWERS + 1] = 1;
	datagram_end(&f);
	return f;
}

static void names_by_pointers(void **state)
{
	static const struct {
		const char *name;
		size_t len;
	} wrong[] = {
		{"\xc0\x1a", 2},      /* at itself: the question ends at 26 */
		{"\xc0\x20", 2},      /* ahead */
		{"\xff\xff", 2},      /* nowhere */
		{"\xc0\x02", 2},      /* into the header */
		{"\x01x\xc0\x1a", 4}, /* round and round */
		{"\x40x", 2},	      /* no length at all */
		{"\x80", 1},
	};
	struct bed *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		ask(b, "pypi.org", 7);
		assert_int_equal(code_of(hears(b, with_owner(wrong[i].name, wrong[i].len))),
				 DNS_SERVER_FAILED);
		assert_false(is_open(b, SITE));
	}
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, with_owner("\x04pypi\xc0\x11", 7))), DNS_OK);
	assert_true(is_open(b, SITE));
}

static void an_answer_that_is_cut(void **state)
{
	struct bed *b = *state;
	struct frame f = answer_to("pypi.org", 7), cut;

	add_address(&f, "pypi.org", SITE, 300);
	add_address(&f, "pypi.org", SITE + 1, 300);
	for (cut = f; cut.len > MESSAGE + 26; cut.len--) {
		datagram_end(&cut);
		b->gate->now += SECOND;
		ask(b, "pypi.org", 7);
		assert_int_equal(code_of(hears(b, cut)),
				 cut.len == f.len ? DNS_OK : DNS_SERVER_FAILED);
	}
	f.bytes[ANSWERS] = 0xff; /* of records that are not there */
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_SERVER_FAILED);
	/* An address of another length, and an answer that is too long. */
	f = answer_to("pypi.org", 7);
	add_record(&f, "pypi.org", DNS_A, 300, "abcde", 5);
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_SERVER_FAILED);
	f = answer_to("pypi.org", 7);
	while (f.len - MESSAGE <= DNS_ANSWER_MAX)
		add_address(&f, "pypi.org", SITE, 300);
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_SERVER_FAILED);
}

/* TCP is closed, so no client is to be told that there is more by TCP. */
static void an_answer_that_was_too_long_for_the_resolver(void **state)
{
	struct bed *b = *state;
	struct frame f = answer_to("pypi.org", 7);

	f.bytes[FLAGS] |= 2;
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_SERVER_FAILED);
	add_address(&f, "pypi.org", SITE, 300);
	ask(b, "pypi.org", 7);
	f = hears(b, f);
	assert_int_equal(code_of(f), DNS_OK);
	assert_int_equal(f.bytes[FLAGS] & 2, 0);
	assert_true(is_open(b, SITE));
}

static void times_to_live_have_bounds(void **state)
{
	static const struct {
		uint32_t ttl, told, open;
	} all[] = {{0, 0, 90},
		   {60, 60, 90},
		   {100, 100, 130},
		   {3600, 3600, 3630},
		   {UINT32_MAX, 3600, 3630}};
	struct bed *b = *state;

	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct frame f = answer_to("pypi.org", 7);

		add_address(&f, "pypi.org", SITE + i, all[i].ttl);
		ask(b, "pypi.org", 7);
		f = hears(b, f);
		assert_int_equal(u32((struct bytes){f.bytes, f.len}, f.len - 10), all[i].told);
		b->gate->now += all[i].open * SECOND - 1;
		assert_true(is_open(b, SITE + i));
		b->gate->now++;
		assert_false(is_open(b, SITE + i));
	}
}

static void answers_without_addresses(void **state)
{
	struct bed *b = *state;
	struct frame f = answer_to("nothing.x.org", 7);

	ask(b, "nothing.x.org", 7);
	f.bytes[FLAGS + 1] |= DNS_NO_SUCH_NAME;
	assert_int_equal(code_of(hears(b, f)), DNS_NO_SUCH_NAME);
	/* Of another class, or at the end of nothing. */
	f = answer_to("pypi.org", 7);
	add_address(&f, "pypi.org", SITE, 300);
	f.bytes[f.len - 11] = 3;
	ask(b, "pypi.org", 7);
	assert_int_equal(code_of(hears(b, f)), DNS_OK);
	assert_false(is_open(b, SITE));
}

/* Each rule that covers the name opens its own ports. */
static void rules_that_cover_one_name(void **state)
{
	struct bed *b = *state;

	allow(b, "a.x.org:8443");
	resolve(b, "a.x.org", SITE);
	assert_true(passes(b, call_from(SITE, 443, 1)));
	assert_true(passes(b, call_from(SITE, 8443, 1)));
	by_name_change(b->gate, false, "*.x.org");
	assert_false(passes(b, call_from(SITE, 443, 1)));
	assert_true(passes(b, call_from(SITE, 8443, 1)));
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, dns_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(names_off_the_list_do_not_leave),
		WITH(bytes_behind_a_question),
		WITH(only_addresses_are_asked_for),
		WITH(options_do_not_leave),
		WITH(so_many_questions_a_second),
		WITH(an_answer_pins_its_addresses),
		WITH(a_name_of_names),
		WITH(names_by_pointers),
		WITH(an_answer_that_is_cut),
		WITH(an_answer_that_was_too_long_for_the_resolver),
		WITH(times_to_live_have_bounds),
		WITH(answers_without_addresses),
		WITH(rules_that_cover_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
