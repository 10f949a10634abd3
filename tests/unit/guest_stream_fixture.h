/* SPDX-License-Identifier: MIT */
/* Runs a request in the streaming mode, and returns all of its output. */
#ifndef TEST_GUEST_STREAM_FIXTURE_H
#define TEST_GUEST_STREAM_FIXTURE_H

#include "guest_client.h"

static inline void ask(int fd, unsigned request, const char *rest)
{
	autofree char *text = NULL;

	assert_true(asprintf(&text, "{\"id\":\"r%u\",\"request\":%u,\"stream\":true,%s}", request,
			     request, rest) > 0);
	send_message(fd, text);
}

static inline void assert_output(struct streamed *s, const char *out, const char *err)
{
	assert_string_equal(buf_string(&s->out[0]), out);
	assert_string_equal(buf_string(&s->out[1]), err);
}

#endif
