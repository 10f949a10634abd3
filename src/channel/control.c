/* SPDX-License-Identifier: MIT */
#include "channel/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/platform/descriptor.h"
#include "channel/lifeline.h"

#define ANSWER_MAX 65536u
#define READ_CHUNK 4096u

static int wait_control_answer(int fd, uint64_t deadline_ns, int cancel, struct error *err)
{
	struct pollfd slots[] = {{.fd = fd, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};
	int n;

	do
		n = descriptor_poll(slots, ARRAY_SIZE(slots), deadline_ns);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, CONTROL_SOCK_NAME);
	if (n == 0)
		return error_set(err, ERR_TIMEOUT, "the deadline passed");
	return slots[1].revents ? error_set(err, ERR_UNAVAILABLE, "cancelled") : 0;
}

static int control_receive_line(int fd, struct buf *in, uint64_t deadline_ns, int cancel,
				struct error *err)
{
	while (!memchr(buf_bytes(in), '\n', in->len)) {
		uint8_t *room;
		ssize_t n;

		if (wait_control_answer(fd, deadline_ns, cancel, err) < 0)
			return -1;
		room = buf_reserve(in, READ_CHUNK, err);
		if (!room)
			return -1;
		n = recv(fd, room, READ_CHUNK, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return error_set(err, ERR_UNAVAILABLE,
					 "the live supervisor ended without an answer");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, CONTROL_SOCK_NAME);
		if (n > 0)
			buf_commit(in, (size_t)n);
	}
	return 0;
}

static int read_answer(const struct buf *in, json_t **out, struct error *err)
{
	const uint8_t *end = memchr(buf_bytes(in), '\n', in->len);
	json_auto_t *answer = json_load_strict(buf_bytes(in), (size_t)(end - buf_bytes(in)), err);

	if (!answer)
		return error_prefix(err, CONTROL_SOCK_NAME);
	if (json_is_true(json_object_get(answer, "ok"))) {
		if (out)
			*out = steal_ptr(&answer);
		return 0;
	}
	return json_get_error(answer, "the live supervisor refused", err);
}

/* pass: a descriptor that goes with its end; -1: none. */
static int control_send_line(int fd, const json_t *request, int pass, struct error *err)
{
	autofree char *text = json_line(request, err);

	if (!text || fd_write_all(fd, text, strlen(text), err) < 0)
		return -1;
	if (pass < 0)
		return fd_write_all(fd, "\n", 1, err);
	return fd_send_passing(fd, "\n", 1, &pass, 1, 0) < 0
		       ? error_errno(err, errno, CONTROL_SOCK_NAME)
		       : 0;
}

static int connect_control(int workspace_fd, struct error *err)
{
	int fd = sock_connect_at(workspace_fd, CONTROL_SOCK_NAME, err);

	if (fd < 0 && err && (err->errnum == ECONNREFUSED || err->errnum == EAGAIN))
		err->code = ERR_UNAVAILABLE;
	return fd;
}

static int ask_over(int fd, const json_t *request, int pass, uint64_t deadline_ns, int cancel,
		    json_t **answer, struct error *err)
{
	autobuf struct buf in = BUF_INIT(ANSWER_MAX);

	if (control_send_line(fd, request, pass, err) < 0 ||
	    control_receive_line(fd, &in, deadline_ns, cancel, err) < 0)
		return -1;
	return read_answer(&in, answer, err);
}

int control_ask(int workspace_fd, const json_t *request, uint64_t deadline_ns, json_t **answer,
		struct error *err)
{
	return control_ask_or_cancel(workspace_fd, request, deadline_ns, -1, answer, err);
}

int control_ask_or_cancel(int workspace_fd, const json_t *request, uint64_t deadline_ns, int cancel,
			  json_t **answer, struct error *err)
{
	autoclose int fd = connect_control(workspace_fd, err);

	return fd < 0 ? -1 : ask_over(fd, request, -1, deadline_ns, cancel, answer, err);
}

int control_ask_passing(int workspace_fd, const json_t *request, int pass, uint64_t deadline_ns,
			json_t **answer, struct error *err)
{
	autoclose int fd = connect_control(workspace_fd, err);

	return fd < 0 ? -1 : ask_over(fd, request, pass, deadline_ns, -1, answer, err);
}

int control_hold(int workspace_fd, const json_t *request, uint64_t deadline_ns, struct error *err)
{
	autoclose int fd = connect_control(workspace_fd, err);

	if (fd < 0 || ask_over(fd, request, -1, deadline_ns, -1, NULL, err) < 0 ||
	    lifeline_adopt(fd, err) < 0)
		return -1;
	return steal_fd(&fd);
}
