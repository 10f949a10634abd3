/* SPDX-License-Identifier: MIT */
/* The filter if it goes by names, at a time that the test chooses. A test puts frames into a lane,
 * and looks at the frames that come out of both lanes. */
#ifndef BY_NAME_FIXTURE_H
#define BY_NAME_FIXTURE_H

#include "hello_fixture.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "netgate/by_name.h"
#include "netgate/dns.h"

#define SECOND (1000 * NS_PER_MS)
#define GUEST_PORT 40000
#define GUEST_STARTS 1000u /* of its stream */
#define HOST_STARTS 9000u
#define SITE ADDRESS(151, 101, 0, 223)

struct bed {
	struct gate *gate;
	int supervisor;	    /* our end */
	int fds[3];	    /* the gate's */
	struct frame asked; /* the latest question that left the filter */
};

static inline int bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	int pair[2];

	b->gate = calloc(1, sizeof(*b->gate));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	b->supervisor = pair[0];
	b->fds[0] = pair[1];
	screen_of_guest(&b->gate->screen);
	b->gate->screen.by_name = true;
	/* Its sides are never used. */
	gate_init(b->gate, pair[1], pair[1], pair[1], 0);
	b->gate->screen.prefixes.nown = 0;
	b->gate->teller.per_second = 1000;
	b->gate->now = 1000 * SECOND;
	*state = b;
	return 0;
}

static inline int bed_teardown(void **state)
{
	struct bed *b = *state;

	close(b->supervisor);
	close(b->fds[0]);
	free(b->gate);
	free(b);
	return 0;
}

static inline void allow(struct bed *b, const char *rule)
{
	by_name_change(b->gate, true, rule);
}

/* --- frames ---------------------------------------------------------------------------------- */

static inline void into_lane(struct lane *l, struct frame f)
{
	put32(l->buf + l->end, (uint32_t)f.len);
	memcpy(l->buf + l->end + LANE_LENGTH, f.bytes, f.len);
	l->end += LANE_LENGTH + f.len;
	lane_parse(l);
}

/* Returns the next frame that came out. */
static inline bool out_of_lane(struct lane *l, struct frame *f)
{
	const struct bytes rest = {l->buf + l->start, l->ready - l->start};

	if (!rest.len) {
		l->start = l->ready = l->parsed = l->end = 0;
		return false;
	}
	f->len = u32(rest, 0);
	assert_true(f->len <= sizeof(f->bytes));
	memcpy(f->bytes, rest.at + LANE_LENGTH, f->len);
	l->start += LANE_LENGTH + f->len;
	return true;
}

static inline bool to_passt(struct bed *b, struct frame *f)
{
	return out_of_lane(&b->gate->out, f);
}

static inline bool to_guest(struct bed *b, struct frame *f)
{
	return out_of_lane(&b->gate->in, f);
}

static inline void forget_frames(struct bed *b)
{
	struct frame f;

	while (to_passt(b, &f) || to_guest(b, &f))
		;
}

/* Sends a frame of the guest. Returns whether it came out unchanged, and nothing else did. */
static inline bool passes(struct bed *b, struct frame f)
{
	struct frame out, more;

	into_lane(&b->gate->out, f);
	if (!to_passt(b, &out))
		return false;
	assert_false(to_passt(b, &more));
	return out.len == f.len && memcmp(out.bytes, f.bytes, f.len) == 0;
}

/* The same for one of passt's frames. */
static inline bool comes_in(struct bed *b, struct frame f)
{
	struct frame out, more;

	into_lane(&b->gate->in, f);
	if (!to_guest(b, &out))
		return false;
	assert_int_equal(out.len, f.len);
	assert_memory_equal(out.bytes, f.bytes, f.len);
	assert_false(to_guest(b, &more));
	return true;
}

static inline void expect_told(struct bed *b, const char *line)
{
	char got[512] = "";

	(void)!recv(b->supervisor, got, sizeof(got) - 1, MSG_DONTWAIT);
	assert_string_equal(got, line ? line : "");
}

/* Lets so much time pass. Connections that have sent nothing until then are reported. */
static inline void wait_for_words(struct bed *b, uint64_t ns)
{
	b->gate->now += ns;
	by_name_tell_silent(b->gate, b->gate->egress.openings.patience_ns);
}

/* Computes what a receiver computes: 0 for a right checksum. */
static inline unsigned checksum(const uint8_t *bytes, size_t len, uint32_t total)
{
	for (size_t i = 0; i < len; i++)
		total += i & 1 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total & 0xffff;
}

static inline void expect_sound(const struct frame *f)
{
	size_t body = f->len - 34;

	assert_int_equal(f->bytes[16] << 8 | f->bytes[17], f->len - 14);
	assert_int_equal(checksum(f->bytes + 14, 20, 0), 0);
	assert_int_equal(checksum(f->bytes + 26, 8 + body, f->bytes[23] + (uint32_t)body), 0);
}

/* --- DNS ------------------------------------------------------------------------------------- */

static inline size_t put_name(uint8_t *out, const char *name)
{
	size_t at = 0;

	while (*name) {
		size_t len = strcspn(name, ".");

		out[at] = (uint8_t)len;
		memcpy(out + at + 1, name, len);
		at += len + 1;
		name += len + (name[len] == '.');
	}
	out[at] = 0;
	return at + 1;
}

static inline void datagram_end(struct frame *f)
{
	put16(f->bytes + 16, (unsigned)f->len - 14);
	put16(f->bytes + 38, (unsigned)f->len - 34);
	put16(f->bytes + 24, 0);
	put16(f->bytes + 24, checksum(f->bytes + 14, 20, 0));
}

static inline struct frame question(const char *name, unsigned type, unsigned id)
{
	struct frame f = udp(DNS, 53);
	uint8_t *message = f.bytes + 42;

	memcpy(message, "\0\0\x01\0\0\1\0\0\0\0\0\0", 12);
	put16(message, id);
	f.len = 42 + 12 + put_name(message + 12, name);
	put16(f.bytes + f.len, type);
	put16(f.bytes + f.len + 2, DNS_IN);
	f.len += 4;
	datagram_end(&f);
	return f;
}

/* Makes an answer without records yet, as passt passes it on. */
static inline struct frame answer_to(const char *name, unsigned id)
{
	struct frame f = question(name, DNS_A, id);

	memcpy(f.bytes, guest_mac, 6);
	memset(f.bytes + 6, 0x22, 6);
	put32(f.bytes + 26, DNS);
	put32(f.bytes + 30, GUEST);
	put16(f.bytes + 34, 53);
	put16(f.bytes + 36, 40001);
	put16(f.bytes + 44, 0x8180);
	datagram_end(&f);
	return f;
}

static inline void add_record(struct frame *f, const char *owner, unsigned type, uint32_t ttl,
			      const void *data, size_t len)
{
	uint8_t *at;

	f->len += put_name(f->bytes + f->len, owner);
	at = f->bytes + f->len;
	put16(at, type);
	put16(at + 2, DNS_IN);
	put32(at + 4, ttl);
	put16(at + 8, (unsigned)len);
	memcpy(at + 10, data, len);
	f->len += 10 + len;
	f->bytes[49]++;
	datagram_end(f);
}

static inline void add_address(struct frame *f, const char *owner, uint32_t address, uint32_t ttl)
{
	uint8_t data[4];

	put32(data, address);
	add_record(f, owner, DNS_A, ttl, data, sizeof(data));
}

static inline void add_alias(struct frame *f, const char *owner, const char *name)
{
	uint8_t data[256];

	add_record(f, owner, DNS_CNAME, 300, data, put_name(data, name));
}

/* Sends a question of the guest, which leaves. */
static inline void asks(struct bed *b, struct frame f)
{
	struct frame more;

	into_lane(&b->gate->out, f);
	assert_true(to_passt(b, &b->asked));
	if (!b->gate->egress.dry)
		expect_sound(&b->asked);
	assert_false(to_passt(b, &more));
	assert_false(to_guest(b, &more));
}

/* Makes an answer to the latest question that left, with any number and from any port, as an answer
 * to the guest's question. */
static inline struct frame to_what_left(const struct bed *b, struct frame f)
{
	memcpy(f.bytes + 36, b->asked.bytes + 34, 2);
	memcpy(f.bytes + 42, b->asked.bytes + 42, 2);
	return f;
}

/* The guest asks, and the resolver gives this answer. */
static inline void resolve(struct bed *b, const char *name, uint32_t address)
{
	struct frame f = answer_to(name, 7), out;

	forget_frames(b);
	asks(b, question(name, DNS_A, 7));
	add_address(&f, name, address, 300);
	into_lane(&b->gate->in, to_what_left(b, f));
	assert_true(to_guest(b, &out));
	assert_false(to_guest(b, &out));
}

/* --- TCP ------------------------------------------------------------------------------------- */

#define SYN 0x02
#define SYN_ACK 0x12
#define ACK 0x10

static inline struct frame say(uint32_t to, unsigned port, uint32_t sequence, const void *words,
			       size_t len)
{
	struct frame f = tcp(to, port, ACK);

	put32(f.bytes + 38, sequence);
	put32(f.bytes + 42, HOST_STARTS + 1);
	memcpy(f.bytes + f.len, words, len);
	f.len += len;
	put16(f.bytes + 16, (unsigned)f.len - 14);
	return f;
}

static inline struct frame call_from(uint32_t to, unsigned port, uint32_t sequence)
{
	struct frame f = tcp(to, port, SYN);

	put32(f.bytes + 38, sequence);
	return f;
}

static inline struct frame from_port(struct frame f, unsigned port)
{
	put16(f.bytes + 34, port);
	return f;
}

static inline struct frame at_port(struct frame f, unsigned port)
{
	put16(f.bytes + 36, port);
	return f;
}

/* Makes a segment of passt, which has accepted all earlier bytes. */
static inline struct frame heard(uint32_t from, unsigned port, uint8_t flags, uint32_t acknowledged)
{
	struct frame f = tcp(GUEST, GUEST_PORT, flags);

	memcpy(f.bytes, guest_mac, 6);
	memset(f.bytes + 6, 0x22, 6);
	put32(f.bytes + 26, from);
	put16(f.bytes + 34, port);
	put32(f.bytes + 38, HOST_STARTS);
	put32(f.bytes + 42, acknowledged);
	return f;
}

/* Opens a connection from both ends. All connections of tests begin with the same number, which
 * those of a guest do not. So earlier connections are ended and forgotten. */
static inline void connect_to(struct bed *b, uint32_t to, unsigned port)
{
	for (size_t i = 0; i < FLOW_BUCKETS * FLOW_WAYS; i++) {
		struct flow *flow = &b->gate->flows.table[i / FLOW_WAYS][i % FLOW_WAYS];

		flow->has_said = false;
		flow->is_over = true;
	}
	forget_frames(b);
	assert_true(passes(b, call_from(to, port, GUEST_STARTS)));
	assert_true(comes_in(b, heard(to, port, SYN_ACK, GUEST_STARTS + 1)));
	assert_true(passes(b, say(to, port, GUEST_STARTS + 1, "", 0)));
}

/* Expects a reset for each end, at the right place of its stream. */
static inline void expect_end(struct bed *b, struct frame of, uint32_t sequence, uint32_t end)
{
	struct frame f = {0};

	assert_true(to_passt(b, &f));
	expect_sound(&f);
	assert_memory_equal(f.bytes, of.bytes, 12);
	assert_memory_equal(f.bytes + 26, of.bytes + 26, 12);
	assert_int_equal(f.bytes[47], 0x14);
	assert_int_equal(u32((struct bytes){f.bytes, f.len}, 38), sequence);
	assert_false(to_passt(b, &f));
	assert_true(to_guest(b, &f));
	expect_sound(&f);
	assert_memory_equal(f.bytes, of.bytes + 6, 6);
	assert_memory_equal(f.bytes + 26, of.bytes + 30, 4);
	assert_memory_equal(f.bytes + 34, of.bytes + 36, 2);
	assert_memory_equal(f.bytes + 36, of.bytes + 34, 2);
	assert_int_equal(f.bytes[47], 0x14);
	assert_memory_equal(f.bytes + 38, of.bytes + 42, 4);
	assert_int_equal(u32((struct bytes){f.bytes, f.len}, 42), end);
	assert_false(to_guest(b, &f));
}

#endif
