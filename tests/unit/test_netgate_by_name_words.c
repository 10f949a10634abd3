/* SPDX-License-Identifier: MIT */
/* Tests first words of connections on their way through the filter. */
#include "words_fixture.h"

static void expect_refused(struct bed *b, struct frame f, const char *line)
{
	into_lane(&b->gate->out, f);
	expect_told(b, line);
	expect_end(b, f, WORDS_AT, u32((struct bytes){f.bytes, f.len}, 38) + (uint32_t)f.len - 54);
	/* Later frames belong to no connection any more. */
	assert_false(passes(b, say(SITE, 443, WORDS_AT + 900, "words", 5)));
	expect_told(b, NULL);
	forget_frames(b);
}

/* All held words, in one frame. */
static void expect_whole(struct bed *b, struct hello h)
{
	struct frame f = {0};

	assert_true(to_passt(b, &f));
	expect_sound(&f);
	assert_int_equal(f.len, 54 + h.len);
	assert_int_equal(u32((struct bytes){f.bytes, f.len}, 38), WORDS_AT);
	assert_memory_equal(f.bytes + 54, h.bytes, h.len);
	assert_false(to_passt(b, &f));
}

/* --- who is let through ---------------------------------------------------------------------- */

static void a_hello_for_the_right_host(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("PyPI.org", 1300);

	open_tls(b);
	assert_int_equal(b->gate->egress.openings.used, 0);
	assert_true(passes(b, say_hello(h, 0, h.len)));
	expect_told(b, TCP_LINE "pypi.org");
	assert_int_equal(b->gate->egress.openings.used, 1);
	/* Until passt has acknowledged it, it stays and may come again. Frames after it are
	 * free. */
	assert_true(passes(b, say_hello(h, 0, h.len)));
	into_lane(&b->gate->out, say_hello(h, 7, 90));
	expect_whole(b, h);
	assert_true(passes(b, say(SITE, 443, WORDS_AT + (uint32_t)h.len, "anything", 8)));
	h.bytes[12]++;
	assert_false(passes(b, say_hello(h, 0, h.len)));
	assert_false(passes(b, say_hello(h, 12, 13)));
	assert_false(passes(b, say(SITE, 443, WORDS_AT - 1, "words", 5)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len - 1)));
	assert_false(passes(b, say_hello(h, 12, 13)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len)));
	assert_int_equal(b->gate->egress.openings.used, 0);
	assert_true(passes(b, say_hello(h, 12, 13)));
	expect_told(b, NULL);
}

static void who_else_is_not(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("evil.example", 0);

	open_tls(b);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "evil.example refused");
	/* The next connection of the same ports begins anew. */
	h = hello_of("pypi.org", 0);
	connect_to(b, SITE, 443);
	assert_true(passes(b, say_hello(h, 0, h.len)));
}

/* On the list, and at another address. */
static void who_is_not_there(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("files.x.org", 0);

	open_tls(b);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "files.x.org refused");
	resolve(b, "other.x.org", SITE);
	expect_told(b, "dns other.x.org A");
	connect_to(b, SITE, 443);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "files.x.org refused");
	resolve(b, "files.x.org", SITE);
	expect_told(b, "dns files.x.org A");
	connect_to(b, SITE, 443);
	assert_true(passes(b, say_hello(h, 0, h.len)));
	expect_told(b, TCP_LINE "*.x.org");
	/* It belongs to that rule now, and ends with it. */
	by_name_change(b->gate, false, "pypi.org");
	assert_true(passes(b, say_hello(h, 0, h.len)));
	by_name_change(b->gate, false, "*.x.org");
	assert_false(passes(b, say_hello(h, 0, h.len)));
}

static void who_says_no_name(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of(NULL, 0);

	open_tls(b);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "- refused");
	h = (struct hello){18, "SSH-2.0-OpenSSH_9\n"};
	connect_to(b, SITE, 443);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "? refused");
	/* It will never be whole. */
	h = hello_of("pypi.org", 100);
	connect_to(b, SITE, 443);
	struct frame f = say_hello(h, 0, 50);
	f.bytes[47] |= TCP_FIN;
	into_lane(&b->gate->out, f);
	expect_told(b, TLS_LINE "? refused");
}

static void without_names_in_words(void **state)
{
	struct bed *b = *state;

	b->gate->egress.by_address = true;
	connect_to(b, SITE, 443);
	expect_told(b, TCP_LINE "pypi.org");
	assert_true(passes(b, say(SITE, 443, WORDS_AT, "SSH-2.0-", 8)));
	assert_int_equal(b->gate->egress.openings.used, 0);
}

static void hosts_of_http(void **state)
{
	static const char right[] = "GET /simple HTTP/1.1\r\nHost: pypi.org\r\n\r\n",
			  wrong[] = "GET /simple HTTP/1.1\r\nHost: evil.example\r\n\r\n";
	struct bed *b = *state;

	connect_to(b, SITE, 80);
	expect_told(b, NULL);
	assert_true(passes(b, say(SITE, 80, WORDS_AT, right, sizeof(right) - 1)));
	expect_told(b, "tcp 10.0.2.15:40000 -> 151.101.0.223:80 pypi.org");
	connect_to(b, SITE, 80);
	assert_false(passes(b, say(SITE, 80, WORDS_AT, wrong, sizeof(wrong) - 1)));
	expect_told(b, "http 10.0.2.15:40000 -> 151.101.0.223:80 evil.example refused");
}

/* --- in pieces ------------------------------------------------------------------------------- */

static void pieces_are_held_together(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 1300), other = hello_of("evil.example", 1300);

	open_tls(b);
	assert_false(passes(b, say_hello(h, 0, 100)));
	assert_false(passes(b, say_hello(h, 500, h.len))); /* out of order */
	assert_false(passes(b, say_hello(h, 0, 100)));	   /* again */
	assert_false(passes(b, say_hello(other, 0, 100))); /* and what was said stays said */
	assert_false(passes(b, say_hello(h, 100, 500)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 500, "", 0)));
	expect_told(b, NULL);
	into_lane(&b->gate->out, say_hello(h, 500, h.len));
	expect_whole(b, h);
	expect_told(b, TCP_LINE "pypi.org");
	assert_true(passes(b, say_hello(h, 0, 100)));
	assert_false(passes(b, say_hello(other, 0, 100)));
	expect_told(b, NULL);
	/* Byte by byte, and in two records. */
	h = hello_of("pypi.org", 30);
	h = hello_in_records(&h, 60);
	connect_to(b, SITE, 443);
	for (size_t i = 0; i + 1 < h.len; i++)
		assert_false(passes(b, say_hello(h, i, i + 1)));
	into_lane(&b->gate->out, say_hello(h, h.len - 1, h.len));
	expect_whole(b, h);
}

/* Nagle's algorithm holds the next piece back until the one before is acknowledged. A sender
 * without an answer sends the piece again. */
static void expect_acknowledged(struct bed *b, size_t end)
{
	struct frame f = {0};

	assert_true(to_guest(b, &f));
	expect_sound(&f);
	assert_int_equal(f.len, COMPOSE_BARE);
	assert_int_equal(f.bytes[47], ACK);
	assert_int_equal(u32((struct bytes){f.bytes, f.len}, 38), HOST_STARTS + 1);
	assert_int_equal(u32((struct bytes){f.bytes, f.len}, 42), WORDS_AT + end);
	assert_int_equal(f.bytes[48] << 8 | f.bytes[49], 0xffff);
	assert_false(to_guest(b, &f));
}

static void a_piece_is_acknowledged(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 1300);
	struct frame f;

	open_tls(b);
	assert_false(passes(b, say_hello(h, 0, 100)));
	expect_acknowledged(b, 100);
	assert_false(passes(b, say_hello(h, 0, 100)));
	expect_acknowledged(b, 100);
	assert_false(passes(b, say_hello(h, 200, 300))); /* out of order */
	expect_acknowledged(b, 100);
	/* But not the last one, which passt answers. Until then everything is sent again. */
	into_lane(&b->gate->out, say_hello(h, 100, h.len));
	expect_whole(b, h);
	assert_false(to_guest(b, &f));
	into_lane(&b->gate->out, say_hello(h, 100, h.len));
	expect_whole(b, h);
	into_lane(&b->gate->out, say_hello(h, 300, h.len));
	expect_whole(b, h);
	assert_false(to_guest(b, &f));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + (uint32_t)h.len, "on", 2)));
}

static void pieces_for_somebody_else(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("evil.example", 1300);

	open_tls(b);
	assert_false(passes(b, say_hello(h, 0, 100)));
	assert_false(passes(b, say_hello(h, 100, 700)));
	forget_frames(b);
	expect_refused(b, say_hello(h, 700, h.len), TLS_LINE "evil.example refused");
	assert_int_equal(b->gate->egress.openings.used, 0);
}

static void words_without_end(void **state)
{
	static char words[1024];
	struct bed *b = *state;
	uint32_t at = 0;

	connect_to(b, SITE, 80);
	memset(words, 'x', sizeof(words));
	for (; at < OPENING_BYTES - sizeof(words); at += sizeof(words)) {
		assert_false(passes(b, say(SITE, 80, WORDS_AT + at, words, sizeof(words))));
		expect_told(b, NULL);
	}
	assert_false(passes(b, say(SITE, 80, WORDS_AT + at, words, sizeof(words))));
	expect_told(b, "http 10.0.2.15:40000 -> 151.101.0.223:80 ? refused");
}

/* More at once than there are places: the next one waits until one is acknowledged. */
static void as_many_as_there_are_places(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);
	struct frame hello = say_hello(h, 0, h.len);

	for (unsigned i = 0; i <= OPENINGS_MAX; i++) {
		unsigned port = 2000 + i;

		assert_true(passes(b, from_port(call_from(SITE, 443, GUEST_STARTS), port)));
		assert_true(comes_in(b, at_port(heard(SITE, 443, SYN_ACK, WORDS_AT), port)));
		assert_int_equal(passes(b, from_port(hello, port)), i < OPENINGS_MAX);
	}
	assert_true(comes_in(b, at_port(heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len), 2000)));
	assert_true(passes(b, from_port(hello, 2000 + OPENINGS_MAX)));
}

/* The other end has a part of the judged words when its place goes to another connection. Another
 * hello after that part would be judged as a whole that nobody gets. */
static void a_judged_one_that_makes_room(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);

	open_tls(b);
	assert_true(passes(b, say_hello(h, 0, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + 10)));
	b->gate->now += 20 * SECOND;
	for (unsigned port = 2000; port < 2000 + OPENINGS_MAX; port++) {
		assert_true(passes(b, from_port(call_from(SITE, 443, GUEST_STARTS), port)));
		assert_true(comes_in(b, at_port(heard(SITE, 443, SYN_ACK, WORDS_AT), port)));
		assert_false(passes(b, from_port(say_hello(h, 0, 20), port)));
		forget_frames(b);
	}
	/* Of the other words nothing has left, but the guest was told that they are kept: the
	 * connection begins anew. */
	b->gate->now += 20 * SECOND;
	h = hello_of("pypi.org", 30);
	assert_false(passes(b, say_hello(h, 0, h.len)));
	forget_frames(b);
	assert_true(passes(b, from_port(call_from(SITE, 443, GUEST_STARTS), 1999)));
	assert_true(comes_in(b, at_port(heard(SITE, 443, SYN_ACK, WORDS_AT), 1999)));
	assert_true(passes(b, from_port(say_hello(h, 0, h.len), 1999)));
	struct frame late = from_port(say_hello(h, 20, h.len), 1999 + OPENINGS_MAX);
	forget_frames(b);
	into_lane(&b->gate->out, late);
	expect_end(b, late, WORDS_AT + 20, WORDS_AT + (uint32_t)h.len);
}

/* --- hostile streams ------------------------------------------------------------------------- */

/* Before passt has said where it expects the words to begin, nobody knows which are the first. */
static void words_before_the_answer(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);

	assert_true(passes(b, call_from(SITE, 443, GUEST_STARTS)));
	assert_false(passes(b, say_hello(h, 0, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT)));
	struct frame f = say_hello(h, 0, h.len);
	f.bytes[47] = SYN_ACK; /* no call, and one number more than it seems */
	assert_false(passes(b, f));
	assert_true(passes(b, say_hello(h, 0, h.len)));
}

/* passt hears of the call only when it has no connection of these ports any more. */
static void expect_anew(struct bed *b, struct frame call)
{
	struct frame out = {0};

	into_lane(&b->gate->out, call);
	assert_true(to_passt(b, &out));
	expect_sound(&out);
	assert_int_equal(out.bytes[47], TCP_RST | TCP_ACK);
	assert_int_equal(u32((struct bytes){out.bytes, out.len}, 38), WORDS_AT);
	assert_true(to_passt(b, &out));
	assert_memory_equal(out.bytes, call.bytes, call.len);
	assert_false(to_passt(b, &out));
}

/* A second call, which passt does not accept: its words are at a place that passt ignores. An old
 * acknowledgement that covers it would open the connection for any words at the right place. */
static void a_call_with_another_beginning(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);
	uint32_t early = WORDS_AT - (uint32_t)h.len;

	open_tls(b);
	expect_anew(b, call_from(SITE, 443, early - 1));
	assert_false(passes(b, say(SITE, 443, early, h.bytes, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT)));
	assert_false(passes(b, say(SITE, 443, WORDS_AT, "anything", 8)));
	/* Its repeated answer says where it really begins. */
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT)));
	assert_false(passes(b, say(SITE, 443, early, h.bytes, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT)));
	assert_false(passes(b, say(SITE, 443, WORDS_AT, "anything", 8)));
}

/* passt has given up a connection for another, and its answer is still on its way. Words that begin
 * where the first did would be read from the middle on. */
static void an_answer_to_an_older_call(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);
	struct frame f = call_from(SITE, 443, GUEST_STARTS + 50);

	assert_true(passes(b, call_from(SITE, 443, GUEST_STARTS)));
	expect_anew(b, f);
	assert_true(passes(b, f)); /* again */
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT)));
	assert_false(passes(b, say_hello(h, 0, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT + 50)));
	assert_false(passes(b, say_hello(h, 0, h.len)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 50, h.bytes, h.len)));
}

/* The guest calls once more since the answer is late, and both cross. */
static void a_call_that_crosses_its_answer(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);

	open_tls(b);
	assert_true(passes(b, call_from(SITE, 443, GUEST_STARTS)));
	assert_true(passes(b, say_hello(h, 0, h.len)));
	/* After data was sent it would be another connection with the same number, for which old
	 * answers and acknowledgements could exist. */
	assert_false(passes(b, call_from(SITE, 443, GUEST_STARTS)));
	assert_true(passes(b, say_hello(h, 0, h.len)));
	expect_anew(b, call_from(SITE, 443, GUEST_STARTS + 9));
	assert_false(passes(b, call_from(SITE, 443, GUEST_STARTS)));
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT)));
	assert_false(passes(b, say_hello(h, 0, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len)));
	assert_false(passes(b, say_hello(hello_of("evil.example", 0), 0, 60)));
}

static void an_opened_one_is_judged_anew(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);

	open_tls(b);
	assert_true(passes(b, say_hello(h, 0, h.len)));
	assert_true(comes_in(b, heard(SITE, 443, ACK, WORDS_AT + (uint32_t)h.len)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 900, "anything", 8)));
	/* The repeated answer, which says nothing new. */
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, WORDS_AT)));
	assert_true(passes(b, say(SITE, 443, WORDS_AT + 900, "anything", 8)));
	expect_told(b, TCP_LINE "pypi.org");
	connect_to(b, SITE, 443);
	h = hello_of("evil.example", 0);
	expect_refused(b, say_hello(h, 0, h.len), TLS_LINE "evil.example refused");
}

/* Sequence numbers begin again at 0 within the words. */
static void numbers_that_wrap(void **state)
{
	struct bed *b = *state;
	struct hello h = hello_of("pypi.org", 0);
	uint32_t start = UINT32_MAX - 20;

	assert_true(passes(b, call_from(SITE, 443, start - 1)));
	assert_true(comes_in(b, heard(SITE, 443, SYN_ACK, start)));
	assert_false(passes(b, say(SITE, 443, start, h.bytes, 40)));
	assert_false(passes(b, say(SITE, 443, start + 40, h.bytes + 40, h.len - 40)));
	forget_frames(b);
	assert_false(passes(b, say(SITE, 443, start + 30, h.bytes + 30, 20)));
	forget_frames(b);
	assert_true(comes_in(b, heard(SITE, 443, ACK, start + 10)));
	assert_int_equal(b->gate->egress.openings.used, 1);
	assert_true(comes_in(b, heard(SITE, 443, ACK, start + (uint32_t)h.len)));
	assert_int_equal(b->gate->egress.openings.used, 0);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, words_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_hello_for_the_right_host),
		WITH(who_else_is_not),
		WITH(who_is_not_there),
		WITH(who_says_no_name),
		WITH(without_names_in_words),
		WITH(hosts_of_http),
		WITH(pieces_are_held_together),
		WITH(a_piece_is_acknowledged),
		WITH(pieces_for_somebody_else),
		WITH(words_without_end),
		WITH(as_many_as_there_are_places),
		WITH(a_judged_one_that_makes_room),
		WITH(words_before_the_answer),
		WITH(a_call_with_another_beginning),
		WITH(an_answer_to_an_older_call),
		WITH(a_call_that_crosses_its_answer),
		WITH(an_opened_one_is_judged_anew),
		WITH(numbers_that_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
