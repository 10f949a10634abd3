/* SPDX-License-Identifier: MIT */
/*
 * One direction of traffic: bytes are read from one socket and split into frames, and the frames
 * that pass are written to the other socket. A frame is a 4-byte big-endian length and that many
 * bytes.
 *
 * There is one buffer, in which frames stay where they were read:
 *
 *     start      ready       parsed           end
 *       | to write |  dropped  |  not yet judged |
 *
 * A frame moves only if a frame before it was dropped. Each read and each write takes as many
 * frames as there are.
 */
#ifndef NETGATE_LANE_H
#define NETGATE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_BYTES 524288 /* room for several of the longest frames */
#define LANE_LENGTH 4

struct lane {
	int from, to;
	bool from_packets, to_packets; /* a packet socket (packet.h), without lengths */
	/* Judges a frame; true: it passes, and may have been changed in place. NULL: all frames
	 * pass. */
	bool (*pass)(void *data, uint8_t *frame, size_t len);
	void *data;
	uint64_t credit; /* bytes that may be read in this run */
	size_t longest;	 /* longer frames are skipped */
	uint64_t skip;	 /* how many bytes of a skipped frame are still to come */
	size_t start, ready, parsed, end;
	uint8_t buf[LANE_BYTES];
};

enum lane_state {
	LANE_IDLE,    /* wants to read */
	LANE_STARVED, /* wants to read, and has no credit */
	LANE_BLOCKED, /* the other side takes no more: wants to write */
	LANE_ENDED    /* one of the sides has gone */
};

/* Judges the frames in the buffer; for lane_run(), and for tests. */
void lane_parse(struct lane *lane);
/* Puts a frame of our own after the last one that passed. To be called while the lane does not run,
 * or from pass(), which then must not use its frame any more and must let none pass. Returns false
 * if there is no room. */
bool lane_insert(struct lane *lane, const uint8_t *frame, size_t len);
/* Moves a bounded number of frames, without waiting. */
enum lane_state lane_run(struct lane *lane);

#endif
