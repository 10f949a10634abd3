/* SPDX-License-Identifier: MIT */
/*
 * A guest that connects, speaks and connects again in any order, from any place of its stream.
 * passt takes the bytes in the order of their numbers, some of them or none, and its answers come
 * late. All that it takes of a connection begins as a ClientHello for the right host.
 */
#include <string.h>

#include "fuzz_input.h"
#include "netgate/by_name.h"
#include "netgate/put.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SYN = 0x02, RST = 0x04, ACK = 0x10, SITE = 0x08080808, TCP_AT = 34, WORDS = 54 };

static struct gate gate;
static uint8_t hello[128], evil[128];
static size_t hello_len;

/* passt's one connection, and passt's answers that netgate has not seen yet. */
static struct {
	bool called, open;
	uint32_t start, next;
	size_t len, waiting;
	uint8_t stream[4096];
	uint8_t said[8][WORDS];
} passt;

static size_t make_hello(uint8_t *out, const uint8_t name[4])
{
	static const uint8_t fixed[] = {0x16, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3};
	static const uint8_t rest[] = {0, 2, 0x13, 1, 1, 0};
	const size_t len = 4, all = 5 + 4 + 34 + 1 + 4 + 2 + 2 + 9 + len;

	memset(out, 0, 128);
	memcpy(out, fixed, sizeof(fixed));
	put16(out + 3, (uint32_t)all - 5);
	put16(out + 7, (uint32_t)all - 9);
	memcpy(out + 44, rest, sizeof(rest));
	put16(out + 50, (uint32_t)len + 9);
	put16(out + 54, (uint32_t)len + 5);
	put16(out + 56, (uint32_t)len + 3);
	put16(out + 59, (uint32_t)len);
	memcpy(out + 61, name, len);
	return all;
}

static void make_frame(uint8_t *f, bool of_guest, uint32_t sequence, uint32_t acknowledged,
		       uint8_t flags, size_t words)
{
	memset(f, 0, WORDS);
	memcpy(f + (of_guest ? 6 : 0), gate.screen.guest_mac, 6);
	put16(f + 12, ETHERTYPE_OF_IPV4);
	f[14] = 0x45;
	put16(f + 16, (uint32_t)(WORDS - ETHERNET_HEADER + words));
	f[23] = 6;
	put32(f + (of_guest ? 26 : 30), gate.screen.guest);
	put32(f + (of_guest ? 30 : 26), SITE);
	put16(f + TCP_AT + (of_guest ? 0 : 2), 4000);
	put16(f + TCP_AT + (of_guest ? 2 : 0), 443);
	put32(f + TCP_AT + 4, sequence);
	put32(f + TCP_AT + 8, acknowledged);
	f[TCP_AT + 12] = 0x50;
	f[TCP_AT + 13] = flags;
}

/* --- passt ----------------------------------------------------------------------------------- */

static void passt_says(uint8_t flags, uint32_t acknowledged)
{
	if (passt.waiting < 8)
		make_frame(passt.said[passt.waiting++], false, 1, acknowledged, flags, 0);
}

static void check_taken(void)
{
	struct host_name name;
	enum opening begins = client_hello_read((struct bytes){passt.stream, passt.len}, &name);

	/* The words were let through as a whole. If passt had no room then, the rest comes in
	 * pieces. */
	HOLDS(begins == OPENING_UNFINISHED ||
	      (begins == OPENING_NAMED && strcmp(name.text, "ab.c") == 0));
}

/* limit: the bytes for which it has room now. */
static void passt_takes(const uint8_t *frame, size_t len, size_t limit)
{
	struct segment s;

	HOLDS(segment_read(frame, len, &s));
	if (!passt.called) {
		if ((s.flags & (SYN | ACK)) == SYN) {
			passt.called = true;
			passt.open = false;
			passt.len = 0;
			passt.start = passt.next = s.sequence + 1;
			passt_says(SYN | ACK, passt.next);
		}
		return;
	}
	if (s.flags & RST) {
		passt.called = false;
		return;
	}
	passt.open |= (s.flags & ACK) != 0;
	uint32_t known = passt.next - s.sequence;
	if (!passt.open || known > s.payload.len || !s.payload.len)
		return;
	size_t n = s.payload.len - known;
	if (n > limit)
		n = limit;
	if (n > sizeof(passt.stream) - passt.len)
		n = sizeof(passt.stream) - passt.len;
	memcpy(passt.stream + passt.len, s.payload.at + known, n);
	passt.len += n;
	passt.next += (uint32_t)n;
	check_taken();
	passt_says(ACK, passt.next);
}

static void drain(struct lane *l, size_t limit)
{
	while (l->start < l->ready) {
		const struct bytes at = {l->buf + l->start, l->ready - l->start};

		if (l == &gate.out)
			passt_takes(at.at + LANE_LENGTH, u32(at, 0), limit);
		l->start += LANE_LENGTH + u32(at, 0);
	}
	l->start = l->ready = l->parsed = l->end = 0;
}

static void hand_over(struct lane *l, const uint8_t *frame, size_t len, size_t limit)
{
	put32(l->buf + l->end, (uint32_t)len);
	memcpy(l->buf + l->end + LANE_LENGTH, frame, len);
	l->end += LANE_LENGTH + len;
	lane_parse(l);
	drain(&gate.out, limit);
	drain(&gate.in, limit);
}

/* netgate sees the answers that were given up to now. */
static void passt_is_heard(void)
{
	size_t n = passt.waiting;

	passt.waiting = 0;
	for (size_t i = 0; i < n; i++)
		hand_over(&gate.in, passt.said[i], WORDS, 0);
}

/* --- the guest ------------------------------------------------------------------------------- */

static void begin(void)
{
	struct host_name name;

	hello_len = make_hello(hello, (const uint8_t *)"ab.c");
	make_hello(evil, (const uint8_t *)"evil");
	memset(&passt, 0, sizeof(passt));
	memset(&gate.flows, 0, sizeof(gate.flows));
	memset(&gate.egress.pins, 0, sizeof(gate.egress.pins));
	for (size_t i = 0; i < OPENINGS_MAX; i++)
		gate.egress.openings.of[i].flow = NULL;
	gate.egress.openings.used = 0;
	memcpy(gate.screen.guest_mac, "\x52\x54\0\1\2\3", 6);
	gate.screen.guest = 0x0a00020f;
	gate.screen.by_name = true;
	gate_init(&gate, -1, 0, -1, 0);
	gate.screen.prefixes.nown = 0;
	gate.now = UINT64_C(1) << 40;
	by_name_change(&gate, true, "ab.c");
	host_name_take(&name, (struct bytes){(const uint8_t *)"ab.c", 4});
	pins_add(&gate.egress.pins, SITE, 0, &name, UINT64_MAX);
}

static uint32_t some_sequence(struct input *in)
{
	uint8_t kind = next(in);
	uint32_t near = (uint32_t)(int8_t)next(in);

	return (kind & 1 ? passt.next : kind & 2 ? passt.start : 1000) + near;
}

static void guest_speaks(struct input *in)
{
	uint8_t frame[WORDS + 256], kind = next(in), from = next(in) % 128, len = next(in) % 128;
	uint32_t sequence = some_sequence(in);

	if (from + len > 128)
		len = (uint8_t)(128 - from);
	if (kind & 4) { /* at its place in the stream */
		from = 0;
		sequence = passt.start;
		len = (uint8_t)hello_len;
	}
	make_frame(frame, true, sequence, 1, ACK, len);
	memcpy(frame + WORDS, (kind & 1 ? evil : hello) + from, len);
	if (kind & 2)
		frame[WORDS + len / 2] ^= next(in);
	hand_over(&gate.out, frame, WORDS + len, kind & 8 ? next(in) : SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t frame[WORDS];

	begin();
	for (int steps = 0; in.left && steps < 64; steps++) {
		switch (next(&in) % 6) {
		case 0:
			make_frame(frame, true, some_sequence(&in), 0, SYN, 0);
			hand_over(&gate.out, frame, WORDS, SIZE_MAX);
			break;
		case 1:
			make_frame(frame, true, some_sequence(&in), 1, ACK | (next(&in) & RST), 0);
			hand_over(&gate.out, frame, WORDS, SIZE_MAX);
			break;
		case 2:
			passt_is_heard();
			break;
		case 3: /* passt ends it without a word */
			passt.called = false;
			break;
		default:
			guest_speaks(&in);
		}
	}
	return 0;
}
