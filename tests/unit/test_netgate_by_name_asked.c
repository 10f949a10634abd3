/* SPDX-License-Identifier: MIT */
/* Tests which part of a question leaves if the filter goes by names, and which answer is
 * believed. */
#include "dns_fixture.h"

/* Everything but the answer that the guest waits for. An attacker who can see no question cannot
 * guess for long: a question whose port has got three wrong answers waits no more. */
static void an_answer_to_nothing(void **state)
{
	enum { ADDRESS_AT = 26, PORT_AT = 34, WRONG = 3 };
	static const struct {
		size_t at;
		uint8_t bits;
		bool at_its_port; /* and from the resolver's */
	} wrong[] = {
		{MESSAGE, 0x01, true},				    /* the number */
		{MESSAGE + 1, 0x80, true},     {FLAGS, 0x80, true}, /* no answer */
		{FLAGS, 0x08, true},				    /* of another operation */
		{MESSAGE + 5, 0x03, true},			    /* two questions */
		{MESSAGE + 13, 0x01, true},			    /* another question */
		{PORT_AT + 3, 0x01, false},			    /* the port */
		{PORT_AT + 2, 0x40, false},    {PORT_AT + 1, 0x01, false}, /* the resolver's */
		{ADDRESS_AT + 3, 0x01, false},				   /* and its address */
	};
	struct bed *b = *state;
	struct frame right = answer_to("pypi.org", 7), f;

	add_address(&right, "pypi.org", SITE, 300);
	assert_int_equal(comes_of(b, right).len, 0); /* nobody has asked */
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (int times = 1; times <= WRONG; times++) {
			bool waits = times < WRONG || !wrong[i].at_its_port;

			b->gate->now += SECOND;
			ask(b, "pypi.org", 7);
			f = to_what_left(b, right);
			f.bytes[wrong[i].at] ^= wrong[i].bits;
			for (int k = 0; k < times; k++)
				comes_of(b, f);
			assert_false(is_open(b, SITE));
			assert_int_equal(hears(b, right).len, waits ? right.len : 0);
			assert_int_equal(is_open(b, SITE), waits);
			assert_int_equal(hears(b, right).len, 0); /* once */
			by_name_change(b->gate, false, "pypi.org");
			allow(b, "pypi.org");
		}
	}
}

/* An accomplice of the guest can agree with it on the port and the number of a question, and send
 * datagrams that look like the resolver's answer. But the accomplice does not see the question that
 * leaves. */
static void a_forged_answer(void **state)
{
	struct bed *b = *state;
	struct frame forged = answer_to("pypi.org", 7);

	add_address(&forged, "pypi.org", SITE, 300);
	ask(b, "pypi.org", 7);
	assert_int_equal(comes_of(b, forged).len, 0);
	assert_false(is_open(b, SITE));
	/* A second question with the same number does not help the accomplice either. */
	ask(b, "pypi.org", 7);
	assert_int_equal(comes_of(b, forged).len, 0);
	assert_false(is_open(b, SITE));
	assert_int_equal(hears(b, forged).len, forged.len);
}

/* 31 bits of them: it is no accident if two of so many are alike. */
static void nobody_can_know_number_and_port(void **state)
{
	enum { QUESTIONS = 60 };
	struct bed *b = *state;
	uint32_t drawn[QUESTIONS], ids = 0, ports = 0, alike = 0;

	for (unsigned i = 0; i < QUESTIONS; i++) {
		const struct bytes frame = {b->asked.bytes, sizeof(b->asked.bytes)};

		ask(b, "pypi.org", 7);
		drawn[i] = u16(frame, MESSAGE) << 16 | u16(frame, 34);
		assert_in_range(u16(frame, 34), 0x8000, 0xffff);
		ids |= drawn[i] >> 16 ^ drawn[0] >> 16;
		ports |= (drawn[i] ^ drawn[0]) & 0xffff;
		for (unsigned k = 0; k < i; k++)
			alike += drawn[i] == drawn[k];
	}
	assert_int_equal(ids, 0xffff);
	assert_int_equal(ports, 0x7fff);
	assert_in_range(alike, 0, 1);
}

/* The resolver sees nothing of the guest's flags, letters and numbers. In the answer they are as
 * the guest wrote them. */
static void what_the_guest_wrote_stays_here(void **state)
{
	struct bed *b = *state;
	struct frame plain = question("pypi.org", DNS_A, 7),
		     f = question("PyPI.oRG", DNS_A, 0xbeef),
		     answer = answer_to("PyPI.oRG", 0xbeef);

	put16(f.bytes + FLAGS, 0x0030); /* no recursion, and two of DNSSEC's */
	put16(f.bytes + 34, 0xcafe);
	put16(answer.bytes + 36, 0xcafe);
	add_address(&answer, "pypi.org", SITE, 300);
	asks(b, f);
	assert_int_equal(b->asked.len, plain.len);
	assert_memory_equal(b->asked.bytes, plain.bytes, 34);
	assert_memory_equal(b->asked.bytes + FLAGS, plain.bytes + FLAGS, plain.len - FLAGS);
	struct frame lower = to_what_left(b, answer);
	memcpy(lower.bytes + 54, plain.bytes + 54, 9);
	struct frame out = comes_of(b, lower);
	assert_int_equal(out.len, answer.len);
	assert_memory_equal(out.bytes + 26, answer.bytes + 26, 14);
	assert_memory_equal(out.bytes + MESSAGE, answer.bytes + MESSAGE, answer.len - MESSAGE);
	/* Also if netgate answers instead of the resolver. */
	asks(b, f);
	lower = to_what_left(b, answer_to("pypi.org", 0));
	put16(lower.bytes + ANSWERS, 1);
	out = comes_of(b, lower);
	assert_int_equal(code_of(out), DNS_SERVER_FAILED);
	assert_memory_equal(out.bytes + 36, answer.bytes + 36, 2);
	assert_memory_equal(out.bytes + MESSAGE, answer.bytes + MESSAGE, 2);
	assert_memory_equal(out.bytes + 54, answer.bytes + 54, 14);
	expect_answered(b, question("EVIL.example", DNS_A, 0xbeef), DNS_NO_SUCH_NAME);
}

/* Each program of the guest has its answer, and there was one question whose answer could be
 * guessed. */
static void many_ask_the_same(void **state)
{
	enum { PROGRAMS = 20 };
	struct bed *b = *state;
	struct frame right = answer_to("pypi.org", 7), f;
	unsigned seen = 0;

	add_address(&right, "pypi.org", SITE, 300);
	ask(b, "pypi.org", 7);
	for (unsigned i = 1; i < PROGRAMS; i++)
		assert_false(passes(b, from_port(question("PYPI.org", DNS_A, i), 2000 + i)));
	assert_false(to_passt(b, &f));
	into_lane(&b->gate->in, to_what_left(b, right));
	while (to_guest(b, &f)) {
		const struct bytes frame = {f.bytes, f.len};
		unsigned port = u16(frame, 36), i = port - 2000;

		expect_sound(&f);
		assert_int_equal(f.len, right.len);
		if (port == 40001) {
			assert_memory_equal(f.bytes + MESSAGE, right.bytes + MESSAGE,
					    right.len - MESSAGE);
			seen |= 1;
			continue;
		}
		assert_in_range(i, 1, PROGRAMS - 1);
		assert_int_equal(u16(frame, MESSAGE), i);
		assert_memory_equal(f.bytes + 54, "\x04PYPI\x03org", 10);
		seen |= 1u << i;
	}
	assert_int_equal(seen, (1u << PROGRAMS) - 1);
	assert_true(is_open(b, SITE));
}

/* A program without an answer asks again, and the others wait for the answer to that. */
static void a_question_again(void **state)
{
	struct bed *b = *state;
	struct frame right = answer_to("pypi.org", 7),
		     other = from_port(question("pypi.org", DNS_A, 8), 2000), late, f;

	ask(b, "pypi.org", 7);
	late = to_what_left(b, right);
	assert_false(passes(b, other));
	b->gate->now += SECOND - 1;
	assert_false(passes(b, from_port(other, 2001)));
	b->gate->now += 1;
	asks(b, from_port(other, 2002)); /* who has not asked before, after a second */
	assert_int_equal(comes_of(b, late).len, 0);
	ask(b, "pypi.org", 7); /* who has, at once */
	into_lane(&b->gate->in, to_what_left(b, right));
	for (int i = 0; i < 4; i++)
		assert_true(to_guest(b, &f));
	assert_false(to_guest(b, &f));
	/* With another EDNS it is another question. */
	f = question("pypi.org", DNS_A, 9);
	memcpy(f.bytes + f.len, "\0\0\x29\x10\0\0\0\0\0\0", 11);
	f.len += 11;
	f.bytes[MESSAGE + 11] = 1;
	datagram_end(&f);
	ask(b, "pypi.org", 7);
	late = to_what_left(b, right);
	asks(b, f);
	assert_int_equal(comes_of(b, late).len, right.len);
}

/* A question that is asked again and again takes one place. So many others wait, and the oldest of
 * them is dropped. */
static void questions_are_forgotten(void **state)
{
	struct bed *b = *state;
	struct frame first[2];
	char name[2][16] = {"n0.x.org", "n1.x.org"}, text[16];

	for (unsigned i = 0; i <= ASKED_MAX; i++) {
		snprintf(text, sizeof(text), "n%u.x.org", i);
		ask(b, text, 7);
		if (i < 2)
			first[i] = to_what_left(b, answer_to(name[i], 7));
		for (unsigned again = 0; i > 1 && again < 2; again++) {
			b->gate->now += SECOND / 20;
			ask(b, text, 7);
		}
		b->gate->now += SECOND / 20;
		/* They must wait for the whole test. */
		b->gate->egress.asked.patience_ns = 100 * SECOND;
	}
	assert_int_equal(comes_of(b, first[0]).len, 0);
	assert_int_equal(comes_of(b, first[1]).len, first[1].len);
}

static void an_answer_that_comes_late(void **state)
{
	struct bed *b = *state;
	struct frame f = answer_to("pypi.org", 7);

	ask(b, "pypi.org", 7);
	b->gate->now += 10 * SECOND;
	assert_int_equal(hears(b, f).len, f.len);
	ask(b, "pypi.org", 7);
	b->gate->now += 10 * SECOND + 1;
	assert_int_equal(hears(b, f).len, 0);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, dns_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(an_answer_to_nothing),
		WITH(a_forged_answer),
		WITH(nobody_can_know_number_and_port),
		WITH(what_the_guest_wrote_stays_here),
		WITH(many_ask_the_same),
		WITH(a_question_again),
		WITH(questions_are_forgotten),
		WITH(an_answer_that_comes_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
