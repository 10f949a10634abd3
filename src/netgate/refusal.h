/* SPDX-License-Identifier: MIT */
/*
 * Answers to refused frames, so that a program in the guest learns at once that its frame was
 * refused, and does not wait for a time-out. A TCP SYN gets the RST of a closed port. A UDP
 * datagram or an echo request gets the ICMP message "communication administratively prohibited"
 * (type 3, code 13; RFC 1812, 5.2.7.1). Linux reports this message to a connected socket as
 * EHOSTUNREACH. In each second only a limited number of answers are sent; further frames are
 * dropped without an answer.
 */
#ifndef NETGATE_REFUSAL_H
#define NETGATE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/compose.h"

#define REFUSAL_FRAME COMPOSE_PROHIBITED /* the most bytes of an answer */

struct refusals {
	uint64_t per_second;
	uint64_t second; /* time in ns when the second began in which answers are counted */
	uint64_t sent;	 /* number of answers since the time `second` */
};

/* Writes the answer to a refused frame of the guest, which screen_frame() has found sound. Returns
 * the length of the answer. Returns 0 for a frame that gets no answer: a TCP frame that is not a
 * SYN, or a frame to more than one receiver (RFC 1122, 3.2.2). */
size_t refusal_answer(const uint8_t *frame, size_t len, uint8_t out[REFUSAL_FRAME]);
/* Counts one more answer at the time `now` (in ns). Returns true if the answer may be sent. */
bool refusals_take(struct refusals *refusals, uint64_t now);

#endif
