/* SPDX-License-Identifier: MIT */
/*
 * One direction: bytes read from one socket, taken apart into frames, what is let through written
 * to the other. A frame is a 4-byte big-endian length and that many bytes.
 *
 * One buffer, in which frames stay where they were read:
 *
 *     start      ready       parsed           end
 *       | to write |  dropped  |  not yet judged |
 *
 * A frame moves only when one before it was dropped. Reading and writing take as many frames at
 * once as there are.
 */
#ifndef NETGATE_LANE_H
#define NETGATE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_BYTES 524288 /* several of the longest frames */
#define LANE_LENGTH 4

struct lane {
	int from, to;
	bool from_packets, to_packets; /* a packet socket (packet.h), without lengths */
	/* NULL: all pass. One that passes may be changed in place. */
	bool (*pass)(void *data, uint8_t *frame, size_t len);
	void *data;
	uint64_t credit; /* bytes that may be read in this run */
	size_t longest;	 /* longer frames are passed over */
	uint64_t skip;	 /* bytes of one of them still to come */
	size_t start, ready, parsed, end;
	uint8_t buf[LANE_BYTES];
};

enum lane_state {
	LANE_IDLE,    /* wants to read */
	LANE_STARVED, /* wants to read, and has no credit */
	LANE_BLOCKED, /* the other side takes no more: wants to write */
	LANE_ENDED    /* one of the sides has gone */
};

/* Judges what is in the buffer; for lane_run(), and for tests. */
void lane_parse(struct lane *lane);
/* Puts a frame of ours behind the last that passed; for when the lane does not run, and for pass(),
 * which has no frame any more then, and lets none pass. False: no room. */
bool lane_insert(struct lane *lane, const uint8_t *frame, size_t len);
/* Moves what can be moved without waiting, a bounded amount of it. */
enum lane_state lane_run(struct lane *lane);

#endif
