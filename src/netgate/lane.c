/* SPDX-License-Identifier: MIT */
#include "netgate/lane.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/min.h"
#include "netgate/packet.h"

/* How many reads one lane may make before the other lane has its turn. */
#define ROUNDS 8

static uint32_t length_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

void lane_parse(struct lane *l)
{
	for (;;) {
		/* A frame that is too long for the buffer is dropped: its bytes are skipped as they
		 * come. */
		size_t skipped = (size_t)min_u64(l->skip, l->end - l->parsed);
		l->skip -= skipped;
		l->parsed += skipped;
		if (l->end - l->parsed < LANE_LENGTH)
			return;
		size_t len = length_at(l->buf + l->parsed);
		if (len > l->longest) {
			l->skip = (uint64_t)LANE_LENGTH + len;
			continue;
		}
		if (l->end - l->parsed - LANE_LENGTH < len)
			return;
		const size_t whole = LANE_LENGTH + len;
		if (!l->pass || l->pass(l->data, l->buf + l->parsed + LANE_LENGTH, len)) {
			if (l->ready != l->parsed)
				memmove(l->buf + l->ready, l->buf + l->parsed, whole);
			l->ready += whole;
		}
		l->parsed += whole;
	}
}

static uint8_t length_byte(size_t len, int i)
{
	return (uint8_t)(len >> (24 - 8 * i));
}

bool lane_insert(struct lane *l, const uint8_t *frame, size_t len)
{
	size_t rest = l->end - l->parsed, front = l->ready + LANE_LENGTH + len;

	if (front + rest > sizeof(l->buf))
		return false;
	memmove(l->buf + front, l->buf + l->parsed, rest);
	for (int i = 0; i < LANE_LENGTH; i++)
		l->buf[l->ready + i] = length_byte(len, i);
	memcpy(l->buf + l->ready + LANE_LENGTH, frame, len);
	l->ready = l->parsed = front;
	l->end = front + rest;
	return true;
}

/* Moves the beginning of the next frame to the front of the buffer. Is called when all frames were
 * written. */
static void rewind_buffer(struct lane *l)
{
	size_t rest = l->end - l->parsed;

	if (rest && l->parsed)
		memmove(l->buf, l->buf + l->parsed, rest);
	l->start = l->ready = l->parsed = 0;
	l->end = rest;
}

/* Receives packets until there is no further packet or the buffer is full, and writes the length of
 * each packet before it. Returns the same values as lane_receive(). */
static int receive_packets(struct lane *l)
{
	size_t before = l->end;
	ssize_t n = 0;

	while (l->credit && sizeof(l->buf) - l->end >= LANE_LENGTH + PACKET_FRAME_MAX) {
		n = packet_receive(l->from, l->buf + l->end + LANE_LENGTH);
		if (n <= 0)
			break;
		for (int i = 0; i < LANE_LENGTH; i++)
			l->buf[l->end++] = length_byte((size_t)n, i);
		l->end += (size_t)n;
		l->credit -= min_u64(l->credit, (uint64_t)n);
	}
	if (l->end == before)
		return (int)n;
	lane_parse(l);
	return 1;
}

/* Receives frames. Returns 1 if bytes were received, 0 if there are no bytes now, -1 if no bytes
 * will ever come again. */
static int lane_receive(struct lane *l)
{
	if (l->from_packets)
		return receive_packets(l);
	size_t room = (size_t)min_u64(l->credit, sizeof(l->buf) - l->end);
	ssize_t n = recv(l->from, l->buf + l->end, room, MSG_DONTWAIT);

	if (n > 0) {
		l->credit -= (uint64_t)n;
		l->end += (size_t)n;
		lane_parse(l);
		return 1;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static int deliver_packets(struct lane *l)
{
	while (l->start < l->ready) {
		size_t len = length_at(l->buf + l->start);
		int sent = packet_send(l->to, l->buf + l->start + LANE_LENGTH, len);

		if (sent <= 0)
			return sent;
		l->start += LANE_LENGTH + len;
	}
	rewind_buffer(l);
	return 1;
}

static int lane_deliver(struct lane *l)
{
	if (l->to_packets)
		return deliver_packets(l);
	while (l->start < l->ready) {
		ssize_t n = send(l->to, l->buf + l->start, l->ready - l->start,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		l->start += (size_t)n;
	}
	rewind_buffer(l);
	return 1;
}

enum lane_state lane_run(struct lane *l)
{
	int delivered = lane_deliver(l);

	for (int i = 0; i < ROUNDS && delivered > 0; i++) {
		if (!l->credit)
			return LANE_STARVED;
		int received = lane_receive(l);

		if (received < 0)
			return LANE_ENDED;
		if (received == 0)
			return LANE_IDLE;
		delivered = lane_deliver(l);
	}
	if (delivered < 0)
		return LANE_ENDED;
	return delivered ? LANE_IDLE : LANE_BLOCKED;
}
