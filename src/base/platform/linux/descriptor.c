/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets by directory descriptor: sun_path holds 107 bytes, less than the path of many a
 * state directory, so the directory is named /proc/thread-self/fd/N and only the last component
 * counts.
 */
#include "base/platform/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

int descriptor_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC);
}

int descriptor_socketpair(int type, int ends[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
}

int descriptor_socket(int family, int type, int protocol, bool nonblock)
{
	return socket(family, type | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), protocol);
}

int descriptor_accept(int listener, struct sockaddr_storage *peer, bool nonblock)
{
	socklen_t len = sizeof(*peer);

	return accept4(listener, (struct sockaddr *)peer, peer ? &len : NULL,
		       SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0));
}

static int set_option(int fd, int option, int on)
{
	return setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on));
}

/*
 * How a port is held. shutdown() ends a listener and leaves it bound (inet_shutdown() and
 * tcp_set_state() of Linux). While a socket does not listen and has SO_REUSEADDR, everybody can
 * bind its port by SO_REUSEADDR too, and then listen at it (inet_bind_conflict()). So the socket
 * has SO_REUSEADDR until it has listened for the first time, and later only while it listens. What
 * is left of its connections has both options by then: SO_REUSEADDR lets the next socket bind
 * the port, and SO_REUSEPORT lets this one listen again. Others share by SO_REUSEPORT only if they
 * are the same user.
 *
 * The first listen() makes sure that nobody else listens or holds the port: it finds a second
 * socket of the same user too, since it comes before SO_REUSEPORT. The second one has the kernel
 * remember that the port is shared by SO_REUSEPORT and by this user alone (tb->fastreuseport of
 * inet_csk_get_port()): from then on what other programs' connections have left does not keep the
 * socket from listening. Both fail where another user has used the moment before to listen. A
 * filter drops who connects meanwhile.
 */
static int become_holder(int fd)
{
	if (listen(fd, 0) < 0 || set_option(fd, SO_REUSEPORT, 1) < 0 || shutdown(fd, SHUT_RD) < 0 ||
	    listen(fd, 0) < 0)
		return -1;
	return descriptor_hold_port(fd);
}

int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len)
{
	struct sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog filter = {.len = 1, .filter = drop};
	int unused = 0;

	if (set_option(fd, SO_REUSEADDR, 1) < 0 || bind(fd, address, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
	    become_holder(fd) < 0)
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

/* shutdown() of a socket that does not listen fails and yet leaves a mark (sk_shutdown of
 * inet_shutdown()). Each connection that the socket accepts later inherits the mark, and reads the
 * end of file instead of what its client sends. */
int descriptor_hold_port(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (set_option(fd, SO_REUSEADDR, 0) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return -1;
	return listens ? shutdown(fd, SHUT_RD) : 0;
}

int descriptor_listen(int fd)
{
	return listen(fd, SOMAXCONN) < 0 ? -1 : set_option(fd, SO_REUSEADDR, 1);
}

ssize_t descriptor_receive(int sock, struct msghdr *message, int flags)
{
	return recvmsg(sock, message, flags | MSG_CMSG_CLOEXEC);
}

int descriptor_replace(int from, int to, bool cloexec)
{
	return dup3(from, to, cloexec ? O_CLOEXEC : 0);
}

int descriptor_memory(const char *name)
{
	return memfd_create(name, MFD_CLOEXEC);
}

void descriptor_close_span(unsigned first, unsigned last)
{
	struct rlimit files;
	unsigned end;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* A seccomp filter older than the call refuses it. */
	end = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX
		      ? (unsigned)files.rlim_cur
		      : 65536;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		close((int)fd);
}

int descriptor_poll(struct pollfd *fds, size_t count, uint64_t deadline_ns)
{
	struct timespec left;

	return ppoll(fds, count, fd_time_left(deadline_ns, &left), NULL);
}

ssize_t descriptor_send_file(int to, int from, off_t *at, size_t len)
{
	return sendfile(to, from, at, len);
}

static int address_at(int dirfd, const char *name, struct sockaddr_un *addr)
{
	int n;

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/thread-self/fd/%d/%s", dirfd,
		     name);
	if (n >= 0 && (size_t)n < sizeof(addr->sun_path))
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

int descriptor_bind_at(int sock, int dirfd, const char *name)
{
	struct sockaddr_un addr;

	/* bind() creates the file with the mode of the socket itself: set here there is no moment
	 * in which others could connect, and the umask of the process is left alone. */
	if (address_at(dirfd, name, &addr) < 0 || fchmod(sock, S_IRUSR | S_IWUSR) < 0)
		return -1;
	return bind(sock, (const struct sockaddr *)&addr, sizeof(addr));
}

int descriptor_connect_at(int sock, int dirfd, const char *name)
{
	struct sockaddr_un addr;

	if (address_at(dirfd, name, &addr) < 0)
		return -1;
	return connect(sock, (const struct sockaddr *)&addr, sizeof(addr));
}
