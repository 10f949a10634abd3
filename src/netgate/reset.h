/* SPDX-License-Identifier: MIT */
/*
 * What a closed port answers to a SYN: a RST, so that a program in the guest whose connection is
 * refused hears of it at once. Not more of them a second than a limit; what is above is dropped in
 * silence.
 */
#ifndef NETGATE_RESET_H
#define NETGATE_RESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/compose.h"

#define RESET_FRAME COMPOSE_BARE

struct resets {
	uint64_t per_second;
	uint64_t second; /* start of the present one, ns */
	uint64_t sent;	 /* in it */
};

/* Of a frame that screen_frame() has found sound. False: it is no SYN, or not from a single
 * neighbour. */
bool reset_answer(const uint8_t *frame, size_t len, uint8_t out[RESET_FRAME]);
/* Whether there may be one more; it is counted. */
bool resets_allow(struct resets *resets, uint64_t now);

#endif
