/* SPDX-License-Identifier: MIT */
/* Makes, connects and accepts Unix sockets. Each socket is named by a directory, which is open as a
 * descriptor, and a file name. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"

static int check_socket_name(const char *name, struct error *err)
{
	if (!*name || strchr(name, '/'))
		return error_set(
			err, ERR_INVALID,
			"'%s' cannot be the name of a socket, because it is empty or has a slash in it",
			name);
	return 0;
}

static int refuse_socket(const char *what, const char *name, struct error *err)
{
	if (errno == ENAMETOOLONG)
		return error_set(err, ERR_INVALID,
				 "the name '%s' is too long for a socket: choose a shorter path",
				 name);
	return error_errno(err, errno, "%s socket %s", what, name);
}

int sock_listen_at(int dirfd, const char *name, struct error *err)
{
	autoclose int fd = descriptor_socket(AF_UNIX, SOCK_STREAM, 0, true);

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (check_socket_name(name, err) < 0)
		return -1;
	if (descriptor_bind_at(fd, dirfd, name) < 0)
		return refuse_socket("bind", name, err);
	if (listen(fd, SOMAXCONN) < 0) {
		error_errno(err, errno, "listen on socket %s", name);
		unlinkat(dirfd, name, 0);
		return -1;
	}
	return steal_fd(&fd);
}

static int set_send_timeout(int fd, uint64_t ms, struct error *err)
{
	struct timeval t = {.tv_sec = (time_t)(ms / 1000),
			    .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0)
		return error_errno(err, errno, "time limit of a socket");
	return 0;
}

int sock_connect_at(int dirfd, const char *name, struct error *err)
{
	autoclose int fd = descriptor_socket(AF_UNIX, SOCK_STREAM, 0, false);
	struct error why = {0};
	int rc;

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (check_socket_name(name, err) < 0)
		return -1;
	/* connect() waits while the listener's queue is full. Without the timeout it would wait for
	 * ever if the listener accepts no connections. */
	if (set_send_timeout(fd, limit_get(LIMIT_DIAL_MS), err) < 0)
		return -1;
	do
		rc = descriptor_connect_at(fd, dirfd, name);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EAGAIN)
		return error_set(
			err, ERR_TIMEOUT,
			"socket %s: the program that listens there does not accept connections: end that program and start it again",
			name);
	if (rc < 0)
		return refuse_socket("connect to", name, err);
	/* On macOS setting the timeout fails with EINVAL if the peer has already disconnected. The
	 * failure is not an error, because the caller must still be able to read the peer's last
	 * bytes, for example a refusal. */
	if (set_send_timeout(fd, 0, &why) < 0 && why.errnum != EINVAL)
		return error_copy(err, &why);
	return steal_fd(&fd);
}

int sock_connect_now_at(int dirfd, const char *name, struct error *err)
{
	autoclose int fd = descriptor_socket(AF_UNIX, SOCK_STREAM, 0, true);

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (check_socket_name(name, err) < 0)
		return -1;
	if (descriptor_connect_at(fd, dirfd, name) < 0) {
		refuse_socket("connect to", name, err);
		if (err && err->errnum == ECONNREFUSED)
			err->code = ERR_UNAVAILABLE;
		return -1;
	}
	return steal_fd(&fd);
}

int sock_accept(int fd, struct error *err)
{
	int peer;

	do
		peer = descriptor_accept(fd, NULL, false);
	while (peer < 0 && errno == EINTR);
	if (peer < 0 && (errno == EAGAIN || errno == ECONNABORTED))
		return error_set(err, ERR_UNAVAILABLE, "no connection waits to be accepted");
	if (peer < 0)
		return error_errno(err, errno, "accept");
	return peer;
}
