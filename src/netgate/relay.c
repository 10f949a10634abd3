/* SPDX-License-Identifier: MIT */
#include "netgate/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "netgate/packet.h"

enum { CARD, BRIDGE, SIDES };
/* The most frames of one side that are moved before the other side has its turn. */
#define ROUNDS 64

static uint8_t held[PACKET_HEADER + PACKET_FRAME_MAX];

/* Moves frames from one side to the other. Returns false if the interface of `from` is gone. */
static bool relay_frames(int from, int to)
{
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n = read(from, held, sizeof(held));

		/* If the interface is down, a read fails once with ENETDOWN or EINVAL. The relay
		 * then goes on, since the interface may come up again. */
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENETDOWN ||
					 errno == EINVAL);
		(void)!write(to, held, (size_t)n);
	}
	return true;
}

int relay_run(int card, int bridge, struct error *err)
{
	struct pollfd polled[SIDES] = {[CARD] = {.fd = card, .events = POLLIN},
				       [BRIDGE] = {.fd = bridge, .events = POLLIN}};

	for (;;) {
		if (poll(polled, SIDES, -1) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (polled[CARD].revents && !relay_frames(card, bridge))
			return 0;
		if (polled[BRIDGE].revents && !relay_frames(bridge, card))
			return 0;
	}
}
