/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets by directory descriptor. sun_path holds 107 bytes, less than the path of many a
 * state directory, so the directory is named /proc/self/fd/N: only the last component counts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

static int address_at(int dirfd, const char *name, struct sockaddr_un *addr, struct error *err)
{
	int n;

	if (!*name || strchr(name, '/'))
		return error_set(err, ERR_INVALID, "'%s' cannot name a socket", name);
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
	if (n < 0 || (size_t)n >= sizeof(addr->sun_path))
		return error_set(err, ERR_INVALID, "socket name '%s' is too long", name);
	return 0;
}

int sock_listen_at(int dirfd, const char *name, struct error *err)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr;

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (address_at(dirfd, name, &addr, err) < 0)
		return -1;
	/* bind() creates the file with the mode of the socket itself: set here there is no moment
	 * in which others could connect, and the umask of the process is left alone. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return error_errno(err, errno, "mode of socket %s", name);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return error_errno(err, errno, "bind socket %s", name);
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
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr;
	int rc;

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (address_at(dirfd, name, &addr, err) < 0)
		return -1;
	/* connect() waits while the backlog is full: for ever, were the listener stuck. */
	if (set_send_timeout(fd, limit_get(LIMIT_DIAL_MS), err) < 0)
		return -1;
	do
		rc = connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
	while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EAGAIN)
		return error_set(err, ERR_TIMEOUT, "socket %s: nobody accepts", name);
	if (rc < 0)
		return error_errno(err, errno, "connect to socket %s", name);
	if (set_send_timeout(fd, 0, err) < 0)
		return -1;
	return steal_fd(&fd);
}

int sock_connect_now_at(int dirfd, const char *name, struct error *err)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr;

	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (address_at(dirfd, name, &addr, err) < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		error_errno(err, errno, "connect to socket %s", name);
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
		/* cppcheck-suppress nullPointer ; accept4() allows it */
		peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	while (peer < 0 && errno == EINTR);
	if (peer < 0 && (errno == EAGAIN || errno == ECONNABORTED))
		return error_set(err, ERR_UNAVAILABLE, "no connection is waiting");
	if (peer < 0)
		return error_errno(err, errno, "accept");
	return peer;
}
