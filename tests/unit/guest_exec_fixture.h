/* SPDX-License-Identifier: MIT */
/* Runs a command through the agent in one of the two buffered forms, and reads its answer. */
#ifndef TEST_GUEST_EXEC_FIXTURE_H
#define TEST_GUEST_EXEC_FIXTURE_H

#include "guest_client.h"

static inline char *ask(const struct fixture *f, const char *request)
{
	return ask_envelope(f, request);
}

static inline json_t *ask_json(const struct fixture *f, const char *request)
{
	autofree char *text = ask(f, request);
	json_t *answer = json_load_strict(text, strlen(text), NULL);

	assert_non_null(answer);
	return answer;
}

/* The same in the frame form. */
static inline json_t *ask_frame(const struct fixture *f, const char *request)
{
	autoclose int fd = dial(f);
	json_t *answer;
	char more;

	send_message(fd, request);
	answer = read_message(fd);
	assert_int_equal(read(fd, &more, 1), 0); /* the agent closes after the answer */
	return answer;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	assert_non_null(text);
	return text;
}

#endif
