/* SPDX-License-Identifier: MIT */
/* Questions of DNS and their answers, for tests of the filter if it goes by names. */
#ifndef DNS_FIXTURE_H
#define DNS_FIXTURE_H

#include "by_name_fixture.h"

#include "base/limits.h"
#include "netgate/dns_answer.h"

enum { MESSAGE = 42, FLAGS = 44, ANSWERS = 48 };

static inline int dns_setup(void **state)
{
	if (bed_setup(state) < 0)
		return -1;
	struct bed *b = *state;

	allow(b, "pypi.org");
	allow(b, "*.x.org");
	return 0;
}

static inline bool is_open(struct bed *b, uint32_t address)
{
	bool open = passes(b, call_from(address, 443, 1));

	forget_frames(b);
	return open;
}

/* The filter itself answers the guest, with that code and only the guest's question. */
static inline void expect_answer(struct bed *b, struct frame asked, unsigned code)
{
	struct frame f = {0};

	assert_true(to_guest(b, &f));
	expect_sound(&f);
	assert_memory_equal(f.bytes, guest_mac, 6);
	assert_memory_equal(f.bytes + 26, asked.bytes + 30, 4);
	assert_memory_equal(f.bytes + 30, asked.bytes + 26, 4);
	assert_memory_equal(f.bytes + 34, asked.bytes + 36, 2);
	assert_memory_equal(f.bytes + 36, asked.bytes + 34, 2);
	assert_memory_equal(f.bytes + MESSAGE, asked.bytes + MESSAGE, 2);
	assert_int_equal(u16((struct bytes){f.bytes, f.len}, FLAGS), 0x8180 | code);
	assert_memory_equal(f.bytes + FLAGS + 2, "\0\1\0\0\0\0\0\0", 8);
	assert_memory_equal(f.bytes + 54, asked.bytes + 54, f.len - 54);
	assert_false(to_guest(b, &f));
	assert_false(to_passt(b, &f));
}

static inline void expect_answered(struct bed *b, struct frame asked, unsigned code)
{
	into_lane(&b->gate->out, asked);
	expect_answer(b, asked, code);
}

static inline void ask(struct bed *b, const char *name, unsigned id)
{
	asks(b, question(name, DNS_A, id));
}

/* Returns what comes to the guest of a frame of passt. Its length is 0 if nothing comes. */
static inline struct frame comes_of(struct bed *b, struct frame f)
{
	struct frame out = {0}, more;

	into_lane(&b->gate->in, f);
	if (to_guest(b, &out)) {
		expect_sound(&out);
		assert_false(to_guest(b, &more));
	}
	return out;
}

/* The resolver answers the latest question. The guest gets the answer, perhaps changed. */
static inline struct frame hears(struct bed *b, struct frame f)
{
	return comes_of(b, to_what_left(b, f));
}

static inline unsigned code_of(struct frame f)
{
	assert_true(f.len > FLAGS + 2);
	return f.bytes[FLAGS + 1] & 15;
}

#endif
