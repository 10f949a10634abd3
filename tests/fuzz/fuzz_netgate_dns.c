/* SPDX-License-Identifier: MIT */
/*
 * Messages of DNS to the filter if it goes by names. The first half of the input is the guest's
 * questions, and the second half the answers to them. Only netgate's own questions for names on the
 * list leave. The guest gets answers in the words of its questions. They open only the addresses
 * that they give for their question.
 */
#include <string.h>

#include "fuzz_input.h"
#include "netgate/by_name.h"
#include "netgate/dns_answer.h"
#include "netgate/dns_query.h"
#include "netgate/put.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE = 42, FROM_PORT = 34, TO_PORT = 36, PORT = 4000, ASKERS = 3 };

static struct gate gate;

/* Runs the filter between the guest and the resolver, in memory of its own that ends with it. */
static uint8_t *datagram(const uint8_t *message, size_t len, bool of_guest)
{
	uint8_t *f = calloc(1, MESSAGE + len);

	put16(f + 12, ETHERTYPE_OF_IPV4);
	f[14] = 0x45;
	put16(f + 16, (uint32_t)(MESSAGE - ETHERNET_HEADER + len));
	f[23] = 17;
	put32(f + (of_guest ? 26 : 30), gate.screen.guest);
	put32(f + (of_guest ? 30 : 26), gate.screen.dns);
	put16(f + (of_guest ? 34 : 36), PORT);
	put16(f + (of_guest ? 36 : 34), DNS_PORT);
	put16(f + 38, (uint32_t)(8 + len));
	memcpy(f + MESSAGE, message, len);
	return f;
}

static void empty_lane(struct lane *l)
{
	l->start = l->ready = l->parsed = l->end = 0;
}

static void begin(void)
{
	memset(&gate.egress.names, 0, sizeof(gate.egress.names));
	memset(&gate.egress.pins, 0, sizeof(gate.egress.pins));
	memset(&gate.egress.asked, 0, sizeof(gate.egress.asked));
	gate.egress.credit_ns = 0;
	gate.screen.guest = 0x0a00020f;
	gate.screen.dns = 0x0a000203;
	gate.screen.by_name = true;
	gate_init(&gate, -1, 0, -1, 0);
	gate.now = UINT64_C(1) << 40;
	empty_lane(&gate.in);
	empty_lane(&gate.out);
	by_name_change(&gate, true, "ab.c");
	by_name_change(&gate, true, "*.d");
}

/* Takes the next frame of ours from a lane. Its length is 0 at the end. */
static struct bytes next_frame(struct lane *l)
{
	const struct bytes rest = {l->buf + l->start, l->ready - l->start};
	const struct bytes frame = {rest.at + LANE_LENGTH, u32(rest, 0)};

	if (!rest.len)
		return (struct bytes){NULL, 0};
	HOLDS(rest.len >= LANE_LENGTH + frame.len && frame.len >= MESSAGE);
	HOLDS(u16(frame, 16) == frame.len - ETHERNET_HEADER && u16(frame, 38) == frame.len - 34);
	l->start += LANE_LENGTH + frame.len;
	return frame;
}

/* Checks a question that leaves. Only the name in it comes from the guest, and its size is one of
 * three. */
static void check_left(struct bytes frame)
{
	const struct bytes message = behind(frame, MESSAGE);
	const uint8_t *name = message.at + 12;
	size_t at = 12, labels = 0;

	HOLDS(u16(frame, FROM_PORT) >= 0x8000 && u16(frame, TO_PORT) == DNS_PORT);
	HOLDS(memcmp(message.at + 2, "\1\0\0\1\0\0\0\0\0", 9) == 0);
	for (; u8(message, at); at += u8(message, at) + 1, labels++)
		for (size_t i = 1; i <= u8(message, at); i++)
			HOLDS(egress_rule_letter(message.at[at + i]) == (char)message.at[at + i]);
	HOLDS((labels == 2 && memcmp(name, "\2ab\1c", 6) == 0) ||
	      (labels > 1 && memcmp(message.at + at - 2, "\1d", 3) == 0));
	HOLDS(memcmp(message.at + at + 1, "\0\1\0\1", 4) == 0);
	const struct bytes rest = behind(message, at + 5);
	HOLDS(rest.len == (message.at[11] ? 11 : 0));
	HOLDS(!rest.len || (memcmp(rest.at, "\0\0\x29", 3) == 0 &&
			    (u16(rest, 3) == 512 || u16(rest, 3) == 1200) &&
			    memcmp(rest.at + 5, "\0\0\0\0\0", 6) == 0));
}

static void check_answered(const struct asker *askers, const struct dns_question *q)
{
	for (size_t i = 0; i < ASKERS; i++) {
		const struct bytes frame = next_frame(&gate.in), message = behind(frame, MESSAGE);

		HOLDS(message.len >= q->end && message.len <= DNS_ANSWER_MAX);
		HOLDS(u16(frame, TO_PORT) == askers[i].port && u16(message, 0) == askers[i].id);
		HOLDS(memcmp(message.at + 12, askers[i].name, dns_name_bytes(q)) == 0);
	}
	HOLDS(!next_frame(&gate.in).len);
}

static void check_opened(const struct dns_question *q)
{
	const struct pins *p = &gate.egress.pins;

	HOLDS(p->used <= 2 * DNS_ADDRESSES_MAX);
	for (uint16_t i = 1; i <= p->used; i++)
		HOLDS(host_name_equal(&p->names[i], &q->name) &&
		      p->pins[i].until >= gate.now + UINT64_C(90) * 1000000000 &&
		      p->pins[i].until <= gate.now + UINT64_C(3630) * 1000000000);
}

static void ask(const uint8_t *message, size_t len)
{
	uint8_t *frame = datagram(message, len, true);
	struct bytes left;

	HOLDS(!by_name_question(&gate, frame, MESSAGE + len));
	left = next_frame(&gate.out);
	if (left.len)
		check_left(left);
	HOLDS(!next_frame(&gate.out).len);
	free(frame);
}

/* Whatever was asked, some questions wait for this answer, if anybody can wait. */
static void answer(const uint8_t *message, size_t len)
{
	uint8_t *frame = datagram(message, len, false);
	struct asker askers[ASKERS] = {0};
	struct dns_question q;
	bool can = dns_read_question((struct bytes){message, len}, &q);

	for (size_t i = 0; can && i < ASKERS; i++) {
		askers[i].id = (uint16_t)(0xabcd + i);
		askers[i].port = (uint16_t)(700 + i);
		memset(askers[i].name, 'A' + (int)i, dns_name_bytes(&q));
		asked_note(&gate.egress.asked, &(struct asked_question){.since = gate.now,
									.port = PORT,
									.question = q,
									.asker = askers[i]});
	}
	empty_lane(&gate.in);
	HOLDS(!by_name_inbound(&gate, frame, MESSAGE + len));
	if (gate.in.ready)
		check_answered(askers, &q);
	check_opened(&q);
	HOLDS(can || !gate.egress.pins.used);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	begin();
	ask(data, size / 2);
	answer(data + size / 2, size - size / 2);
	HOLDS(gate.in.end <= LANE_BYTES && gate.in.ready == gate.in.end);
	return 0;
}
