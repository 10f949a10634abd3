/* SPDX-License-Identifier: MIT */
/* A client of the agent of guest_fixture.h: its connections, and the bytes that it sends and reads
 * there. */
#ifndef TEST_GUEST_CLIENT_H
#define TEST_GUEST_CLIENT_H

#include "guest_fixture.h"

#include "base/buf.h"
#include "base/frame.h"

static inline int through_door(const struct fixture *f, char what)
{
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&what, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int ends[2];

	assert_int_equal(fd_socketpair(ends, NULL), 0);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
	assert_int_equal(sendmsg(f->door, &message, 0), 1);
	close(ends[1]);
	return ends[0];
}

/* A connection, as the host makes one. */
static inline int dial(const struct fixture *f)
{
	return through_door(f, DOOR_CLIENT);
}

static inline void send_text(int fd, const char *text)
{
	assert_int_equal(fd_write_all(fd, text, strlen(text), NULL), 0);
}

static inline void send_frame(int fd, const void *bytes, size_t len)
{
	uint8_t head[FRAME_HEADER];

	be32_put(head, (uint32_t)len);
	assert_int_equal(fd_write_all(fd, head, sizeof(head), NULL), 0);
	assert_int_equal(fd_write_all(fd, bytes, len, NULL), 0);
}

static inline void send_message(int fd, const char *text)
{
	send_frame(fd, text, strlen(text));
}

static inline void send_stdin(int fd, uint64_t request, const void *bytes, size_t len)
{
	uint8_t *frame = malloc(9 + len);

	assert_non_null(frame);
	frame[0] = 1;
	be64_put(frame + 1, request);
	memcpy(frame + 9, bytes, len);
	send_frame(fd, frame, 9 + len);
	free(frame);
}

/* Returns everything up to the peer's end, as a malloc'd string. */
static inline char *read_all(int fd)
{
	struct buf all = {0};
	char *text;

	assert_int_equal(fd_read_to_end(fd, &all, NULL), 0);
	text = buf_steal_string(&all, NULL);
	assert_non_null(text);
	return text;
}

/* Returns one frame, malloc'd, with a NUL behind it. Returns NULL at the end. */
static inline uint8_t *read_frame(int fd, size_t *len)
{
	uint8_t head[FRAME_HEADER], *payload;

	if (fd_read_exact(fd, head, sizeof(head), NULL) < 0)
		return NULL;
	*len = be32_get(head);
	assert_true(*len > 0 && *len <= FRAME_MAX);
	payload = malloc(*len + 1);
	assert_non_null(payload);
	assert_int_equal(fd_read_exact(fd, payload, *len, NULL), 0);
	payload[*len] = 0;
	return payload;
}

/* Sends one or more envelopes. Returns all bytes until the agent closes, which it does when no more
 * can follow. */
static inline char *ask_envelope(const struct fixture *f, const char *request)
{
	autoclose int fd = dial(f);

	send_text(fd, request);
	shutdown(fd, SHUT_WR);
	return read_all(fd);
}

/* Sends a JSON frame. */
static inline json_t *read_message(int fd)
{
	size_t len = 0;
	autofree uint8_t *payload = read_frame(fd, &len);
	json_t *message;

	assert_non_null(payload);
	assert_int_equal(payload[0], '{');
	message = json_load_strict(payload, len, NULL);
	assert_non_null(message);
	return message;
}

/* The output of a streamed request until its exit. */
struct streamed {
	struct buf out[2];
	json_t *start, *exit; /* start: NULL when it never ran */
};

/* Takes one frame of the request. Returns true if it was the exit. */
static inline bool take_streamed(int fd, uint64_t request, struct streamed *s)
{
	size_t len = 0;
	autofree uint8_t *payload = read_frame(fd, &len);
	json_t *message;
	const char *event;

	assert_non_null(payload);
	if (payload[0] != '{') {
		assert_true(payload[0] == 2 || payload[0] == 3);
		assert_true(len > 9 && len <= 9 + 65536);
		assert_int_equal(be64_get(payload + 1), request);
		assert_non_null(s->start);
		assert_int_equal(buf_append(&s->out[payload[0] - 2], payload + 9, len - 9, NULL),
				 0);
		return false;
	}
	message = json_load_strict(payload, len, NULL);
	assert_non_null(message);
	assert_int_equal(json_integer_value(json_object_get(message, "request")), request);
	event = json_string_value(json_object_get(message, "event"));
	if (strcmp(event, "start") == 0) {
		assert_null(s->start);
		s->start = message;
		return false;
	}
	assert_string_equal(event, "exit");
	s->exit = message;
	return true;
}

static inline struct streamed read_streamed(int fd, uint64_t request)
{
	struct streamed s = {0};

	while (!take_streamed(fd, request, &s))
		;
	return s;
}

static inline void streamed_free(struct streamed *s)
{
	buf_free(&s->out[0]);
	buf_free(&s->out[1]);
	json_decref(s->start);
	json_decref(s->exit);
}

static inline int64_t number_of(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

#endif
