/* SPDX-License-Identifier: MIT */
/*
 * Answers to refused frames, so that a program in the guest learns of the refusal at once and does
 * not wait for its own time-out. A TCP SYN gets the RST of a closed port. A UDP datagram and an
 * echo request get "communication administratively prohibited" (ICMP type 3, code 13; RFC 1812,
 * 5.2.7.1), which a connected socket of Linux reports as EHOSTUNREACH. The answers per second are
 * limited; further frames are dropped in silence.
 */
#ifndef NETGATE_REFUSAL_H
#define NETGATE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/compose.h"

#define REFUSAL_FRAME COMPOSE_PROHIBITED /* the longest answer */

struct refusals {
	uint64_t per_second;
	uint64_t second; /* ns, start of the present second */
	uint64_t sent;	 /* answers in the present second */
};

/* Writes the answer to a frame of the guest that screen_frame() has found sound. Returns its
 * length, or 0 if there is no answer: a TCP frame that is no SYN, or a frame to many receivers (RFC
 * 1122, 3.2.2). */
size_t refusal_answer(const uint8_t *frame, size_t len, uint8_t out[REFUSAL_FRAME]);
/* Counts one more answer at the time now (ns). Returns true if it may be sent. */
bool refusals_take(struct refusals *refusals, uint64_t now);

#endif
