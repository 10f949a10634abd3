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

static int control_receive_line(int fd, struct buf *in, uint64_t deadline_ns, int cancel,
				struct error *err)
{
	while (!memchr(buf_bytes(in), '\n', in->len)) {
		struct pollfd slots[] = {{.fd = fd, .events = POLLIN},
					 {.fd = cancel, .events = POLLIN}};
		uint8_t *room;
		ssize_t n;
		int got;

		do
			got = descriptor_poll(slots, ARRAY_SIZE(slots), deadline_ns);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return error_errno(err, errno, CONTROL_SOCK_NAME);
		if (got == 0)
			return error_set(err, ERR_TIMEOUT, "the deadline passed");
		if (slots[1].revents)
			return error_set(err, ERR_UNAVAILABLE, "cancelled");
		room = buf_reserve(in, READ_CHUNK, err);
		if (!room)
			return -1;
		n = recv(fd, room, READ_CHUNK, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return error_set(
				err, ERR_UNAVAILABLE,
				"the live supervisor ended without an answer: supervisor.log in the workspace may say why");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, CONTROL_SOCK_NAME);
		if (n > 0)
			buf_commit(in, (size_t)n);
	}
	return 0;
}

static int connect_control(int workspace_fd, struct error *err)
{
	int fd = sock_connect_at(workspace_fd, CONTROL_SOCK_NAME, err);

	if (fd < 0 && err && (err->errnum == ECONNREFUSED || err->errnum == EAGAIN))
		err->code = ERR_UNAVAILABLE;
	return fd;
}

/* Sends a request over `fd` and waits for the answer. `pass` is a descriptor that is sent together
 * with the last byte of the request; -1: no descriptor. *out becomes the answer, unless `out` is
 * NULL. */
static int ask_over(int fd, const json_t *request, int pass, uint64_t deadline_ns, int cancel,
		    json_t **out, struct error *err)
{
	autofree char *text = json_line(request, err);
	autobuf struct buf in = BUF_INIT(ANSWER_MAX);
	json_auto_t *answer = NULL;
	const uint8_t *end;

	if (!text || fd_write_all(fd, text, strlen(text), err) < 0)
		return -1;
	if (pass < 0 && fd_write_all(fd, "\n", 1, err) < 0)
		return -1;
	if (pass >= 0 && fd_send_passing(fd, "\n", 1, &pass, 1, 0) < 0)
		return error_errno(err, errno, CONTROL_SOCK_NAME);
	if (control_receive_line(fd, &in, deadline_ns, cancel, err) < 0)
		return -1;
	end = memchr(buf_bytes(&in), '\n', in.len);
	answer = json_load_strict(buf_bytes(&in), (size_t)(end - buf_bytes(&in)), err);
	if (!answer)
		return error_prefix(err, CONTROL_SOCK_NAME);
	if (!json_is_true(json_object_get(answer, "ok")))
		return json_get_error(answer, "the live supervisor refused", err);
	if (out)
		*out = steal_ptr(&answer);
	return 0;
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
