/* SPDX-License-Identifier: MIT */
#include "channel/dial.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

/* "OK 4294967295\n" and some room: a longer line is no answer to a CONNECT. */
#define ANSWER_MAX 32

static int send_line(int fd, const char *line, size_t len, uint64_t deadline_ns, struct error *err)
{
	while (len > 0) {
		ssize_t n = send(fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			line += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (fd_wait(fd, POLLOUT, deadline_ns, err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return error_errno(err, errno, "vsock.sock");
		}
	}
	return 0;
}

/* One byte at a time: what follows the line belongs to the caller's stream. 1 byte read, 0 end. */
static int receive_byte(int fd, char *byte, uint64_t deadline_ns, struct error *err)
{
	for (;;) {
		ssize_t n = recv(fd, byte, 1, MSG_DONTWAIT);

		if (n >= 0)
			return (int)n;
		if (errno == ECONNRESET)
			return 0;
		if (errno == EAGAIN) {
			if (fd_wait(fd, POLLIN, deadline_ns, err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return error_errno(err, errno, "vsock.sock");
		}
	}
}

static int receive_answer(int fd, uint32_t port, uint64_t deadline_ns, struct error *err)
{
	char line[ANSWER_MAX];
	size_t len = 0;

	for (;;) {
		int got = receive_byte(fd, &line[len], deadline_ns, err);

		if (got < 0)
			return -1;
		if (got == 0)
			return error_set(err, ERR_UNAVAILABLE,
					 "the guest refuses connections to its port %u", port);
		if (line[len] == '\n')
			break;
		if (++len == sizeof(line))
			return error_set(err, ERR_IO, "vsock.sock answered with no OK line");
	}
	if (len < 4 || memcmp(line, "OK ", 3) != 0)
		return error_set(err, ERR_IO, "vsock.sock answered with no OK line");
	return 0;
}

int dial_guest(int dirfd, uint32_t port, uint64_t deadline_ns, struct error *err)
{
	autoclose int fd = sock_connect_at(dirfd, "vsock.sock", err);
	autobuf struct buf line = BUF_INIT(ANSWER_MAX);

	if (fd < 0) {
		if (err && (err->errnum == ECONNREFUSED || err->errnum == EAGAIN))
			err->code = ERR_UNAVAILABLE;
		return -1;
	}
	if (buf_printf(&line, err, "CONNECT %u\n", port) < 0)
		return -1;
	if (send_line(fd, buf_string(&line), line.len, deadline_ns, err) < 0 ||
	    receive_answer(fd, port, deadline_ns, err) < 0)
		return error_prefix(err, "cannot reach the guest");
	return steal_fd(&fd);
}
