/* SPDX-License-Identifier: MIT */
/*
 * Only open() can make a descriptor O_CLOEXEC from the beginning. For descriptors of other calls a
 * second call sets the flag. A program that another thread starts between the two calls may inherit
 * the descriptor. Programs that proc_spawn.c starts inherit only the descriptors that are passed to
 * them.
 *
 * sun_path has room for 103 bytes, and the paths of many state directories are longer. macOS has no
 * path by which a file in an open directory could be named, as /proc/self/fd of Linux has. So the
 * calling thread changes its working directory to the directory of the socket. pthread_fchdir_np()
 * changes the working directory of this thread only. libSystem exports this function, and uses it
 * in its own fts(3).
 *
 * This file was compiled and linked for macOS, but never run there.
 */
#include "base/platform/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#define CHUNK 65536

int pthread_fchdir_np(int fd); /* `fd` -1: the thread uses the working directory of the process
			        * again */

static int fail_on(int fd)
{
	int why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

static int close_on_exec(int fd)
{
	return fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : fail_on(fd);
}

static int quiet_socket(int fd, bool nonblock)
{
	const int on = 1;

	if (close_on_exec(fd) < 0)
		return -1;
	/* accept() gives a socket the flags of its listener. If the peer has disconnected, no
	 * option can be set on the socket (EINVAL, sosetoptlock() in bsd/kern/uipc_socket.c of
	 * https://github.com/apple-oss-distributions/xnu), but the peer's last bytes can still be
	 * read. */
	if ((setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on)) < 0 && errno != EINVAL) ||
	    fcntl(fd, F_SETFL, nonblock ? O_NONBLOCK : 0) < 0)
		return fail_on(fd);
	return fd;
}

int descriptor_pipe(int ends[2])
{
	if (pipe(ends) < 0)
		return -1;
	if (close_on_exec(ends[0]) < 0)
		return fail_on(ends[1]);
	return close_on_exec(ends[1]) < 0 ? fail_on(ends[0]) : 0;
}

int descriptor_socketpair(int type, int ends[2])
{
	if (type != SOCK_STREAM) {
		errno = ENOTSUP;
		return -1;
	}
	if (socketpair(AF_UNIX, type, 0, ends) < 0)
		return -1;
	if (quiet_socket(ends[0], false) < 0)
		return fail_on(ends[1]);
	return quiet_socket(ends[1], false) < 0 ? fail_on(ends[0]) : 0;
}

int descriptor_socket(int family, int type, int protocol, bool nonblock)
{
	int fd = socket(family, type, protocol);

	return fd < 0 ? -1 : quiet_socket(fd, nonblock);
}

int descriptor_accept(int listener, struct sockaddr_storage *peer, bool nonblock)
{
	socklen_t len = sizeof(*peer);
	int fd = accept(listener, (struct sockaddr *)peer, peer ? &len : NULL);

	return fd < 0 ? -1 : quiet_socket(fd, nonblock);
}

/* Uses SO_REUSEADDR, because otherwise bind() would fail while closed connections of the port
 * remain. */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len)
{
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -1;
	return bind(fd, address, len);
}

/* Succeeds, and changes nothing, for a socket that is bound and does not listen. Such a socket
 * refuses connections, and no other user can bind its port (in_pcbbind() in bsd/netinet/in_pcb.c of
 * xnu). Fails for a socket that listens, because no call makes it stop listening: shutdown() of a
 * socket that is not connected fails with ENOTCONN (soshutdown() in bsd/kern/uipc_socket.c). */
int descriptor_hold_port(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return -1;
	if (!listens)
		return 0;
	errno = ENOTSUP;
	return -1;
}

bool descriptor_has_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v6 = {0}};
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) < 0)
		return false;
	return at.any.sa_family == AF_INET6  ? at.v6.sin6_port != 0
	       : at.any.sa_family == AF_INET ? at.v4.sin_port != 0
					     : false;
}

int descriptor_guard_port(int fd, int *guard)
{
	(void)fd;
	*guard = -1;
	return 0;
}

int descriptor_listen(int fd)
{
	return listen(fd, SOMAXCONN);
}

static void close_all_on_exec(const struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	const uint8_t *at = (const uint8_t *)header + CMSG_LEN(0);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, at + i * sizeof(fd), sizeof(fd));
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
}

ssize_t descriptor_receive(int sock, struct msghdr *message, int flags)
{
	ssize_t n = recvmsg(sock, message, flags);

	if (n >= 0 && message->msg_controllen > 0)
		for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
				close_all_on_exec(c);
	return n;
}

int descriptor_replace(int from, int to, bool cloexec)
{
	if (dup2(from, to) < 0)
		return -1;
	return fcntl(to, F_SETFD, cloexec ? FD_CLOEXEC : 0) < 0 ? -1 : to;
}

int descriptor_null(void)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Makes a file in the user's own directory for temporary files, and removes it from the directory
 * at once. */
int descriptor_memory(const char *name)
{
	char path[PATH_MAX];
	size_t len = confstr(_CS_DARWIN_USER_TEMP_DIR, path, sizeof(path));
	int fd;

	(void)name;
	if (len == 0 || len + sizeof("microagent-XXXXXX") > sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(path + len - 1, sizeof(path) - len + 1, "microagent-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

void descriptor_close_span(unsigned first, unsigned last)
{
	int most = getdtablesize();

	for (unsigned fd = first; fd <= last && fd < (unsigned)most; fd++)
		close((int)fd);
}

int descriptor_poll(struct pollfd *fds, size_t count, uint64_t deadline_ns)
{
	struct timespec time;
	const struct timespec *left = fd_time_left(deadline_ns, &time);
	int64_t ms = -1;

	/* The milliseconds are rounded up. Otherwise poll() would be called again and again in the
	 * last millisecond. */
	if (left)
		ms = left->tv_sec >= INT_MAX / 1000
			     ? INT_MAX
			     : left->tv_sec * 1000 + (left->tv_nsec + (int64_t)NS_PER_MS - 1) /
							     (int64_t)NS_PER_MS;
	return poll(fds, (nfds_t)count, (int)ms);
}

/* Copies by read and write calls, because sendfile() of macOS sends only to sockets. */
ssize_t descriptor_send_file(int to, int from, off_t *at, size_t len)
{
	uint8_t chunk[CHUNK];
	ssize_t n = pread(from, chunk, len < sizeof(chunk) ? len : sizeof(chunk), *at);

	if (n > 0)
		n = write(to, chunk, (size_t)n);
	if (n > 0)
		*at += n;
	return n;
}

/* --- Unix sockets ----------------------------------------------------------------------------- */

typedef int socket_call(int sock, const struct sockaddr *addr, socklen_t len);

static int call_in_directory(int sock, int dirfd, const char *name, socket_call *call)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int rc, why;

	if (strlen(name) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", name);
	if (pthread_fchdir_np(dirfd) < 0)
		return -1;
	rc = call(sock, (const struct sockaddr *)&addr, sizeof(addr));
	why = errno;
	(void)pthread_fchdir_np(-1);
	errno = why;
	return rc;
}

int descriptor_bind_at(int sock, int dirfd, const char *name)
{
	int why;

	if (call_in_directory(sock, dirfd, name, bind) < 0)
		return -1;
	/* Until fchmodat() is called, the file may have too many permissions. Such permissions do
	 * no harm, because no process can connect before listen() is called. */
	if (fchmodat(dirfd, name, S_IRUSR | S_IWUSR, 0) == 0)
		return 0;
	why = errno;
	(void)unlinkat(dirfd, name, 0);
	errno = why;
	return -1;
}

/* Connects by the path, because macOS cannot connect to a descriptor. After the check, the file
 * could be replaced by a symbolic link. Such a replacement does no harm, because no program with
 * fewer rights than this program can write to the directory. */
int descriptor_connect_at(int sock, int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
		errno = ELOOP;
		return -1;
	}
	return call_in_directory(sock, dirfd, name, connect);
}
