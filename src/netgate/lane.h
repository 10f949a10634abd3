/* SPDX-License-Identifier: MIT */
/*
 * A lane: one direction of the traffic. Bytes are read from one socket and split into frames, and
 * the frames that pass are written to another socket. A frame is a 4-byte big-endian length,
 * followed by as many bytes as the length says.
 *
 * There is one buffer, in which frames stay where they were read:
 *
 *     start      ready       parsed           end
 *       | to write |  dropped  |  not yet judged |
 *
 * A frame is moved in the buffer only if a frame before it was dropped. Each read and each write
 * moves as many frames as possible.
 */
#ifndef NETGATE_LANE_H
#define NETGATE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_BYTES 524288 /* size of the buffer in bytes: room for several of the longest frames */
#define LANE_LENGTH 4

struct lane {
	int from, to;
	/* The socket is a packet socket (packet.h), whose frames have no length before them. */
	bool from_packets, to_packets;
	/* The function that judges a frame, and may change it in place. The function returns true
	 * if the frame passes. NULL: all frames pass. */
	bool (*pass)(void *data, uint8_t *frame, size_t len);
	void *data;
	uint64_t credit; /* the number of bytes that may be read in this run */
	size_t longest;	 /* the greatest length of a frame, in bytes; longer frames are skipped */
	uint64_t skip;	 /* the number of bytes of a skipped frame that have not come yet */
	size_t start, ready, parsed, end;
	uint8_t buf[LANE_BYTES];
};

enum lane_state {
	LANE_IDLE,    /* the lane waits until it can read */
	LANE_STARVED, /* the lane has no credit to read */
	LANE_BLOCKED, /* the lane waits until it can write: the socket `to` takes no more bytes
		       * now */
	LANE_ENDED    /* one of the two sockets is closed at its other end */
};

/* Judges the frames in the buffer. lane_run() calls this function, and tests call it. */
void lane_parse(struct lane *lane);
/* Puts a frame that netgate has made behind the last frame that has passed. May be called while the
 * lane does not run, or from pass() of this lane. If pass() calls it, the new frame takes the place
 * of the frame that is judged. So pass() must not use that frame afterwards, and must return false.
 * Returns false if there is no room. */
bool lane_insert(struct lane *lane, const uint8_t *frame, size_t len);
/* Moves a limited number of frames, and does not wait. Returns the reason why the lane has
 * stopped. */
enum lane_state lane_run(struct lane *lane);

#endif
