/* SPDX-License-Identifier: MIT */
/*
 * Messages of DNS to the filter where it goes by names: the first half of the input is what a guest
 * asks, the second what it is answered. What leaves is a question for a name on the list, and what
 * an answer opens is what it says for that question.
 */
#include <string.h>

#include "fuzz_input.h"
#include "netgate/by_name.h"
#include "netgate/dns_answer.h"
#include "netgate/dns_query.h"
#include "netgate/put.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE = 42 };

static struct gate gate;

/* Between the guest and the resolver, in memory of its own that ends with it. */
static uint8_t *datagram(const uint8_t *message, size_t len, bool of_guest)
{
	uint8_t *f = calloc(1, MESSAGE + len);

	put16(f + 12, ETHERTYPE_OF_IPV4);
	f[14] = 0x45;
	put16(f + 16, (uint32_t)(MESSAGE - ETHERNET_HEADER + len));
	f[23] = 17;
	put32(f + (of_guest ? 26 : 30), gate.screen.guest);
	put32(f + (of_guest ? 30 : 26), gate.screen.dns);
	put16(f + (of_guest ? 34 : 36), 4000);
	put16(f + (of_guest ? 36 : 34), DNS_PORT);
	put16(f + 38, (uint32_t)(8 + len));
	memcpy(f + MESSAGE, message, len);
	return f;
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
	gate.in.start = gate.in.ready = gate.in.parsed = gate.in.end = 0;
	by_name_change(&gate, true, "ab.c");
	by_name_change(&gate, true, "*.d");
}

/* Of a question that leaves: in wire form, and nothing behind it but one record of EDNS. */
static void check_left(const uint8_t *message, size_t len)
{
	const uint8_t *name = message + 12;
	size_t labels = 0;

	HOLDS(len >= 12 + 5);
	for (; name[labels]; labels += name[labels] + 1u)
		HOLDS(name[labels] < 64 && 12 + labels + name[labels] + 1 < len);
	HOLDS(labels >= 2);
	HOLDS((labels == 5 && name[0] == 2 && name[3] == 1 && (name[1] | 32) == 'a' &&
	       (name[2] | 32) == 'b' && (name[4] | 32) == 'c') ||
	      (labels > 2 && name[labels - 2] == 1 && (name[labels - 1] | 32) == 'd'));
	HOLDS(memcmp(name + labels + 1, "\0\1\0\1", 4) == 0);
	for (size_t at = 12 + labels + 5 + 15; at < len; at++)
		HOLDS(message[at] == 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	struct dns_question q;
	uint8_t *asked, *answered;

	if (size > 4096)
		return 0;
	begin();
	asked = datagram(data, half, true);
	if (by_name_question(&gate, asked, MESSAGE + half))
		check_left(asked + MESSAGE, half);
	free(asked);
	/* Whatever was asked: something waits for this answer, if anything can. */
	answered = datagram(data + half, size - half, false);
	if (dns_read_question((struct bytes){data + half, size - half}, &q)) {
		asked_note(&gate.egress.asked, 4000, &q);
		by_name_inbound(&gate, answered, MESSAGE + size - half);
		check_opened(&q);
	} else {
		HOLDS(!by_name_inbound(&gate, answered, MESSAGE + size - half));
	}
	free(answered);
	HOLDS(gate.in.end <= LANE_BYTES && gate.in.ready == gate.in.end);
	return 0;
}
