/* SPDX-License-Identifier: MIT */
/* For tests of channel/calls.h: puts a guest's messages into frames. */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/frame.h"
#include "channel/calls.h"

/* A connection with one call. */
struct one {
	struct calls calls;
	struct agent_call call;
};

static inline int one_begin(struct one *one, const struct microagent_exec *exec,
			    enum agent_input input, struct error *err)
{
	one->call = (struct agent_call){0};
	calls_init(&one->calls);
	return calls_begin(&one->calls, &one->call, exec, input, err);
}

static inline void feed_bytes(struct calls *calls, const void *bytes, size_t len)
{
	size_t room = 0;

	for (size_t at = 0, n; at < len; at += n) {
		uint8_t *space = calls_space(calls, &room, NULL);

		assert_non_null(space);
		assert_true(room > 0);
		n = len - at < room ? len - at : room;
		memcpy(space, (const uint8_t *)bytes + at, n);
		buf_commit(&calls->in, n);
	}
}

static inline void feed_frame(struct calls *calls, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, (uint32_t)len);
	feed_bytes(calls, header, sizeof(header));
	feed_bytes(calls, payload, len);
}

static inline void feed_text(struct calls *calls, const char *text)
{
	feed_frame(calls, text, strlen(text));
}

static inline void feed_data(struct calls *calls, uint8_t type, uint64_t request, const char *text)
{
	uint8_t payload[64];
	size_t len = strlen(text);

	payload[0] = type;
	be64_put(payload + 1, request);
	memcpy(payload + 9, text, len);
	feed_frame(calls, payload, 9 + len);
}

#endif
