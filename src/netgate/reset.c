/* SPDX-License-Identifier: MIT */
#include "netgate/reset.h"

#include <netinet/in.h>

#include "base/clock.h"
#include "netgate/segment.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)

/* It acknowledges the SYN and what came with it. */
bool reset_answer(const uint8_t *frame, size_t len, uint8_t out[RESET_FRAME])
{
	struct segment syn;

	if (!segment_read(frame, len, &syn) || syn.protocol != IPPROTO_TCP || (frame[0] & 1) ||
	    (syn.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return false;
	compose_reset(out, frame, BACK, 0, syn.sequence + 1 + (uint32_t)syn.payload.len,
		      TCP_RST | TCP_ACK);
	return true;
}

bool resets_allow(struct resets *resets, uint64_t now)
{
	if (now - resets->second >= NS_PER_SECOND) {
		resets->second = now;
		resets->sent = 0;
	}
	return resets->sent++ < resets->per_second;
}
