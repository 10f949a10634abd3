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
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define NULL_DEVICE "/dev/null"
#define LINK_FRONT "/proc/self/fd/"

enum { LINK_NAME = sizeof(LINK_FRONT) + 12, REMINDERS = 64 };

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
 * client that connects in between is reset.
 */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len)
{
	if (set_option(fd, SO_REUSEADDR, 1) < 0 || bind(fd, address, len) < 0 ||
	    listen(fd, 0) < 0 || set_option(fd, SO_REUSEPORT, 1) < 0 || shutdown(fd, SHUT_RD) < 0 ||
	    listen(fd, 0) < 0)
		return -1;
	return descriptor_hold_port(fd);
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

/* A TCP socket at a port of the loopback, of the kernel's choice; *at becomes its address. */
static int bind_anywhere(sa_family_t family, struct sockaddr_storage *at, socklen_t *len)
{
	*at = (struct sockaddr_storage){.ss_family = family};
	*len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (family == AF_INET6)
		((struct sockaddr_in6 *)at)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)at, *len) == 0 &&
	    getsockname(fd, (struct sockaddr *)at, len) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* bind() of a socket that has a port or a connection is EINVAL (__inet_bind() of Linux). Of any
 * other it is EADDRINUSE at an address that another socket has. */
bool descriptor_has_port(int fd)
{
	struct sockaddr_storage taken = {0};
	socklen_t len = sizeof(taken);
	struct tcp_info info = {0};
	socklen_t info_len = sizeof(info);

	if (getsockname(fd, (struct sockaddr *)&taken, &len) < 0 ||
	    (taken.ss_family != AF_INET && taken.ss_family != AF_INET6) ||
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len) < 0 ||
	    (info.tcpi_state != TCP_CLOSE && info.tcpi_state != TCP_LISTEN))
		return false;
	int other = bind_anywhere(taken.ss_family, &taken, &len);
	if (other < 0)
		return false;
	bool has = bind(fd, (const struct sockaddr *)&taken, len) < 0 && errno == EINVAL;
	close(other);
	return has;
}

/* The wildcard of the other family than the one of `of`, at its port. */
static socklen_t other_wildcard(const struct sockaddr_storage *of, struct sockaddr_storage *out)
{
	*out = (struct sockaddr_storage){0};
	if (of->ss_family == AF_INET6) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)out;

		v4->sin_family = AF_INET;
		v4->sin_port = ((const struct sockaddr_in6 *)of)->sin6_port;
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = ((const struct sockaddr_in *)of)->sin_port;
	return sizeof(*v6);
}

/* A socket that is bound to a port beside sockets of the same user, and beside what is left of
 * connections of anybody. */
static int bind_beside(const struct sockaddr_storage *address, socklen_t len)
{
	const int on = 1;
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    (address->ss_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
	    set_option(fd, SO_REUSEADDR, 1) == 0 && set_option(fd, SO_REUSEPORT, 1) == 0 &&
	    bind(fd, (const struct sockaddr *)address, len) == 0)
		return fd;
	const int why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

/*
 * Linux remembers of a port by which address a socket with SO_REUSEPORT was bound last, and
 * compares the next such socket of the same user with that address alone (sk_reuseport_match()).
 * So another user could bind the wildcard of the other family, which is in nobody's way, and then
 * [::] for both families, or for IPv6 any address. The guard has that wildcard. It shares it by
 * SO_REUSEPORT with sockets of the same user, which are other published ports and their guards.
 * It has SO_REUSEADDR until it is bound, since old connections of other programs may still be at
 * the port.
 */
int descriptor_guard_port(int fd, int *guard)
{
	struct sockaddr_storage held = {0}, wildcard;
	socklen_t len = sizeof(held);

	if (getsockname(fd, (struct sockaddr *)&held, &len) < 0)
		return -1;
	len = other_wildcard(&held, &wildcard);
	int made = bind_beside(&wildcard, len);
	if (made < 0 && errno == EAFNOSUPPORT) {
		*guard = -1; /* nobody can have it */
		return 0;
	}
	if (made < 0)
		return -1;
	/* It listens for a moment: that fails where another user has bound the address before by
	 * SO_REUSEADDR, and is now before this socket. */
	if (listen(made, 0) < 0 || set_option(made, SO_REUSEADDR, 0) < 0 ||
	    shutdown(made, SHUT_RD) < 0) {
		const int why = errno;

		close(made);
		errno = why;
		return -1;
	}
	*guard = made;
	return 0;
}

/* Another user who binds the port at another address makes the kernel forget that this user shares
 * it, and then what other programs' connections have left keeps the socket from listening. Another
 * socket reminds the kernel; more than one, where that user does it again meanwhile. */
static int listen_beside(int fd)
{
	struct sockaddr_storage held = {0};
	socklen_t len = sizeof(held);

	if (getsockname(fd, (struct sockaddr *)&held, &len) < 0)
		return -1;
	for (int tries = 0; tries < REMINDERS; tries++) {
		int reminder = bind_beside(&held, len);
		if (reminder < 0)
			return -1;
		int status = listen(fd, SOMAXCONN), why = errno;
		close(reminder);
		errno = why;
		if (status == 0 || why != EADDRINUSE)
			return status;
	}
	return -1;
}

int descriptor_listen(int fd)
{
	if (listen(fd, SOMAXCONN) < 0 && (errno != EADDRINUSE || listen_beside(fd) < 0))
		return -1;
	return set_option(fd, SO_REUSEADDR, 1);
}

ssize_t descriptor_receive(int sock, struct msghdr *message, int flags)
{
	return recvmsg(sock, message, flags | MSG_CMSG_CLOEXEC);
}

int descriptor_replace(int from, int to, bool cloexec)
{
	return dup3(from, to, cloexec ? O_CLOEXEC : 0);
}

/* "/proc/self/fd/N"; printf() is not async-signal-safe. */
static void write_link_of(int fd, char out[LINK_NAME])
{
	char digits[12], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	memcpy(mempcpy(out, LINK_FRONT, sizeof(LINK_FRONT) - 1), at,
	       (size_t)(digits + sizeof(digits) - at));
}

/*
 * A confined process of root's is still the owner of /dev/null, and needs no capability for fchmod()
 * of it. fchmod() fails with EROFS on a file that was opened by a read-only mount, and writing to a
 * device does not. So it is opened by a read-only mount of the file alone, which is in no
 * directory. A user other than root may make no mount, and could not change the mode.
 */
static int open_null_by_read_only_mount(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	char link[LINK_NAME] = "";
	int null = -1, tree = open_tree(AT_FDCWD, NULL_DEVICE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return -1;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0) {
		write_link_of(tree, link);
		null = open(link, O_RDWR | O_CLOEXEC);
	}
	close(tree);
	return null;
}

int descriptor_null(void)
{
	int null = open_null_by_read_only_mount();

	return null < 0 ? open(NULL_DEVICE, O_RDWR | O_CLOEXEC) : null;
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
