/* SPDX-License-Identifier: MIT */
/*
 * Answers to frames that are refused, so that a program in the guest hears of it at once and does
 * not wait for a time-out of its own: to a SYN of TCP the RST of a closed port, to a datagram of UDP
 * and an echo request "communication administratively prohibited" (ICMP type 3, code 13; RFC 1812,
 * 5.2.7.1), which a connected socket of Linux has as EHOSTUNREACH. There are no more answers in a
 * second than a limit; further frames are dropped in silence.
 */
#ifndef NETGATE_REFUSAL_H
#define NETGATE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/compose.h"

#define REFUSAL_FRAME COMPOSE_PROHIBITED /* the longest */

struct refusals {
	uint64_t per_second;
	uint64_t second; /* start of the present one, ns */
	uint64_t sent;	 /* in it */
};

/* Writes the answer to a frame of the guest that screen_frame() has found sound. Returns its length,
 * or 0 where there is none: the frame is no SYN, or was sent to many (RFC 1122, 3.2.2). */
size_t refusal_answer(const uint8_t *frame, size_t len, uint8_t out[REFUSAL_FRAME]);
/* Counts one more answer at the time now (ns). Returns whether it may be sent. */
bool refusals_take(struct refusals *refusals, uint64_t now);

#endif
