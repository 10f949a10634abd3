/* SPDX-License-Identifier: MIT */
#include "netgate/refusal.h"

#include <netinet/in.h>

#include "base/clock.h"
#include "netgate/segment.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)

static bool is_for_one(struct bytes frame)
{
	uint32_t to = u32(frame, ETHERNET_HEADER + 16);

	return !(u8(frame, 0) & 1) && to < 0xe0000000u && to != 0;
}

/* Writes the RST for a SYN to `out`. The RST acknowledges the SYN and the bytes that came with it.
 * Returns the length of the frame. */
static size_t answer_syn(const uint8_t *frame, size_t len, uint8_t *out)
{
	struct segment syn;

	if (!segment_read(frame, len, &syn) ||
	    (syn.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return 0;
	return compose_reset(out, frame, BACK, 0, syn.sequence + 1 + (uint32_t)syn.payload.len,
			     TCP_RST | TCP_ACK);
}

size_t refusal_answer(const uint8_t *frame, size_t len, uint8_t out[REFUSAL_FRAME])
{
	const struct bytes whole = {frame, len};

	if (u16(whole, 12) != ETHERTYPE_OF_IPV4 || !is_for_one(whole))
		return 0;
	switch (u8(whole, FRAME_PROTOCOL)) {
	case IPPROTO_TCP:
		return answer_syn(frame, len, out);
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
		return compose_prohibited(out, frame, len);
	default:
		return 0;
	}
}

bool refusals_take(struct refusals *refusals, uint64_t now)
{
	if (now - refusals->second >= NS_PER_SECOND) {
		refusals->second = now;
		refusals->sent = 0;
	}
	return refusals->sent++ < refusals->per_second;
}
