/* SPDX-License-Identifier: MIT */
/*
 * A stream of frames of a hostile guest through a lane of the filter, in pieces of odd sizes. The
 * filter reads no byte outside of the buffer. Only whole frames of the guest's own address to open
 * addresses come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netgate/compose.h"
#include "netgate/lane.h"
#include "netgate/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t mac[6] = {0x52, 0x54, 0, 1, 2, 3};
static struct screen screen = {.guest = 0x0a00020f, .dns = 0x0a000203, .resolver = 0xc0000235};
static struct lane lane;

static bool judge(void *unused, uint8_t *frame, size_t len)
{
	/* Makes a copy of exactly that length, so that the sanitizer sees a read beyond it. */
	uint8_t *copy = malloc(len ? len : 1);
	struct flow_key key;

	(void)unused;
	memcpy(copy, frame, len);
	enum verdict verdict = screen_frame(&screen, copy, len, &key);
	bool pass = verdict == VERDICT_PASS;

	/* Changes the frame as the gate does. */
	if (verdict == VERDICT_RESOLVER)
		compose_redirected(copy, 14 + (size_t)(copy[16] << 8 | copy[17]), screen.resolver);
	free(copy);
	return pass;
}

static void require(bool what)
{
	if (!what)
		abort();
}

/* Judges the frame by other code than the filter's own. */
static void check_passed(const uint8_t *frame, size_t len)
{
	require(len >= 42 && memcmp(frame + 6, mac, 6) == 0);
	require(frame[12] == 8 && (frame[13] == 0 || frame[13] == 6));
	if (frame[13] == 6)
		return;
	const uint8_t *ip = frame + 14;
	bool dns = memcmp(ip + 16, "\x0a\x00\x02\x03", 4) == 0 && ip[9] == 17 && ip[22] == 0 &&
		   ip[23] == 53;
	require(ip[0] == 0x45 && memcmp(ip + 12, "\x0a\x00\x02\x0f", 4) == 0);
	require((ip[6] & 0xbf) == 0 && ip[7] == 0);
	require(dns || (ip[16] != 0 && ip[16] != 10 && ip[16] != 127 && ip[16] < 224));
	require(memcmp(ip + 16, "\xa9\xfe", 2) != 0 && memcmp(ip + 16, "\xc0\xa8", 2) != 0);
}

static void check_output(void)
{
	size_t at = lane.start;

	while (at < lane.ready) {
		const uint8_t *p = lane.buf + at;

		require(lane.ready - at >= LANE_LENGTH);
		size_t len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		require(lane.ready - at - LANE_LENGTH >= len);
		check_passed(p + LANE_LENGTH, len);
		at += LANE_LENGTH + len;
	}
	require(lane.ready <= lane.parsed && lane.parsed <= lane.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memcpy(screen.guest_mac, mac, 6);
	lane.pass = judge;
	lane.longest = SCREEN_FRAME_MAX;
	lane.skip = lane.start = lane.ready = lane.parsed = lane.end = 0;
	for (size_t at = 0, step = 1; at < size && lane.end < LANE_BYTES; step = step * 3 % 1031) {
		size_t n = size - at < step ? size - at : step;

		if (n > LANE_BYTES - lane.end)
			n = LANE_BYTES - lane.end;
		memcpy(lane.buf + lane.end, data + at, n);
		lane.end += n;
		at += n;
		lane_parse(&lane);
		check_output();
	}
	return 0;
}
