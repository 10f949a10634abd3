/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets by directory descriptor. sun_path has room for 107 bytes, and the paths of many
 * state directories are longer. So the address is /proc/thread-self/fd/N/NAME, in which only NAME
 * can be too long.
 */
#include "base/platform/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
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

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/linux/netlink.h"

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

/* --- sockets of other users at a port --------------------------------------------------------- */

struct port_look {
	in_port_t port; /* the port that is looked up, in network byte order */
	uint32_t own;	/* the inode of this process's socket */
	bool lists_bound, others;
};

/* Examines one socket of the kernel's list, for look_at_sockets(). Skips the remains of closed
 * connections, which have no inode because no process has them open. Always returns 0. */
static int look_at_socket(void *data, const struct netlink_reply *reply, struct error *err)
{
	struct port_look *look = data;
	struct netlink_bytes attributes;
	struct inet_diag_msg found;

	(void)err;
	if (!netlink_head(reply->body, &found, sizeof(found), &attributes) ||
	    found.id.idiag_sport != look->port || !found.idiag_inode)
		return 0;
	if (found.idiag_inode == look->own)
		look->lists_bound = true;
	else if (found.idiag_uid != geteuid())
		look->others = true;
	return 0;
}

static int look_at_sockets(struct port_look *look, sa_family_t family)
{
	const struct inet_diag_req_v2 wanted = {
		.sdiag_family = (uint8_t)family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = UINT32_MAX,
		.id = {.idiag_sport = look->port,
		       .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
	};
	autoclose int fd = netlink_open(NETLINK_SOCK_DIAG, NULL);
	struct netlink_message request;

	netlink_begin(&request, SOCK_DIAG_BY_FAMILY, 0, &wanted, sizeof(wanted));
	return fd < 0 ? -1 : netlink_dump(fd, &request, look_at_socket, look, NULL);
}

/* Returns true if a process of another user may have a socket at the port of `fd`, at any address.
 * `fd` is bound and does not listen. Also returns true if the kernel does not list bound sockets
 * (before Linux 6.8). The list of such a kernel lacks `fd` itself. */
static bool others_may_have_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} held = {.v6 = {0}};
	socklen_t len = sizeof(held);
	struct stat st;

	if (fstat(fd, &st) < 0 || getsockname(fd, &held.any, &len) < 0)
		return true;
	const bool v6 = held.any.sa_family == AF_INET6;
	struct port_look look = {.port = v6 ? held.v6.sin6_port : held.v4.sin_port,
				 .own = (uint32_t)st.st_ino};

	/* A kernel without IPv6 has no list of IPv6 sockets. */
	return look_at_sockets(&look, AF_INET) < 0 ||
	       (look_at_sockets(&look, AF_INET6) < 0 && v6) || look.others || !look.lists_bound;
}

/* --- keeping a port without listening --------------------------------------------------------- */

/*
 * Makes `fd`, which has SO_REUSEPORT, stop listening, and removes SO_REUSEADDR from `fd`. Returns
 * 0, or -1 with errno: EADDRINUSE if another user has or may have a socket at the port.
 *
 * Another user may have bound a socket to the port before, by SO_REUSEADDR. Such a socket prevents
 * no other socket from listening until its user removes SO_REUSEADDR from it. So `fd` listens once
 * without SO_REUSEADDR: this listen() fails if such a socket exists. Closed connections of machines
 * do not make listen() fail, because they have SO_REUSEPORT. Closed connections of other programs
 * (TIME_WAIT) make listen() fail, although no process can use them to listen later. So after a
 * failure the kernel is asked who owns the sockets at the port.
 */
static int exclude_others(int fd)
{
	if (set_option(fd, SO_REUSEADDR, 0) < 0 || shutdown(fd, SHUT_RD) < 0)
		return -1;
	if (listen(fd, 0) == 0)
		return shutdown(fd, SHUT_RD);
	if (errno != EADDRINUSE)
		return -1;
	if (!others_may_have_port(fd))
		return 0;
	errno = EADDRINUSE;
	return -1;
}

/*
 * Binds a port and keeps other users from it. shutdown() makes a socket stop listening, and the
 * socket stays bound (inet_shutdown() and tcp_set_state() of Linux). While a bound socket with
 * SO_REUSEADDR does not listen, every user can bind its port by SO_REUSEADDR, and then listen there
 * (inet_bind_conflict()). So the socket has SO_REUSEADDR until it has listened for the first time,
 * and later only while it listens. Closed connections of this socket have SO_REUSEADDR and
 * SO_REUSEPORT: SO_REUSEADDR lets the next socket bind the port, and SO_REUSEPORT lets this socket
 * listen again. SO_REUSEPORT shares the port only with sockets of the same user.
 *
 * SO_REUSEPORT is set after the first listen(). So the first listen() fails if any user, even the
 * same one, has a socket that listens at the port or is kept bound to it, also one that began to
 * listen after bind(). exclude_others() makes sure that no other user is bound to the port. If a
 * client connects between the first listen() and the end of exclude_others(), its connection is
 * reset.
 */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len)
{
	if (set_option(fd, SO_REUSEADDR, 1) < 0 || bind(fd, address, len) < 0 ||
	    listen(fd, 0) < 0 || set_option(fd, SO_REUSEPORT, 1) < 0)
		return -1;
	return exclude_others(fd);
}

/* Makes a socket stop listening. shutdown() is not called for a socket that does not listen,
 * because it would fail and still mark the socket as shut down (sk_shutdown in inet_shutdown()).
 * Each connection that the socket accepts later would inherit this mark, and read the end of file
 * instead of its client's data. */
int descriptor_hold_port(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (set_option(fd, SO_REUSEADDR, 0) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return -1;
	return listens ? shutdown(fd, SHUT_RD) : 0;
}

/* Returns a TCP socket that is bound to the loopback, at a port that the kernel chooses; -1 on
 * failure. Stores the address of the socket in *at, and the size of the address in *len. */
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

/* Tries to bind `fd` to an address that another socket has. If `fd` has a port or a connection,
 * bind() fails with EINVAL (__inet_bind() of Linux), otherwise with EADDRINUSE. In both cases `fd`
 * is not changed. */
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

/* Stores the wildcard address of the other family (IPv4 if `of` is IPv6, and vice versa) with the
 * port of `of`. Returns the size of the address in bytes. */
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
	/* The address comes from getsockname(), which the analyser does not know. */
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
	v6->sin6_port = ((const struct sockaddr_in *)of)->sin_port;
	return sizeof(*v6);
}

/* Closes a descriptor and does not change errno. */
static void close_quietly(int fd)
{
	const int why = errno;

	close(fd);
	errno = why;
}

/* Returns a socket that is bound to an address, or -1 with errno. The bind succeeds even if sockets
 * of the same user with SO_REUSEPORT, or closed connections of any user, have the same address. */
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
	if (fd >= 0)
		close_quietly(fd);
	return -1;
}

/*
 * Makes the guard. For each port, Linux remembers the address of the last socket with SO_REUSEPORT
 * that was bound to the port. The next such socket of the same user is compared only with this
 * address (sk_reuseport_match()). So another user could bind the wildcard address of the other
 * family, which conflicts with no socket, and then [::] for both families, or any IPv6 address.
 *
 * The guard is bound to that wildcard address. By SO_REUSEPORT it shares the address with sockets
 * of the same user, which are other published ports and their guards. The guard has SO_REUSEADDR
 * until it has listened, because old connections of other programs may still be at the port. While
 * the kernel remembers the guard's own address, the guard may listen without a check of other
 * sockets. So another bind makes the kernel remember the published port's address before the guard
 * excludes other sockets.
 */
int descriptor_guard_port(int fd, int *guard)
{
	struct sockaddr_storage held = {0}, wildcard;
	socklen_t len = sizeof(held);

	if (getsockname(fd, (struct sockaddr *)&held, &len) < 0)
		return -1;
	const socklen_t wildcard_len = other_wildcard(&held, &wildcard);
	int made = bind_beside(&wildcard, wildcard_len);
	if (made < 0 && errno == EAFNOSUPPORT) {
		*guard = -1; /* the kernel does not support the other family, so no user can bind
			      * its wildcard address */
		return 0;
	}
	if (made < 0)
		return -1;
	if (listen(made, 0) == 0) {
		int reminder = bind_beside(&held, len);

		if (reminder >= 0 && close(reminder) == 0 && exclude_others(made) == 0) {
			*guard = made;
			return 0;
		}
	}
	close_quietly(made);
	return -1;
}

/* Calls listen(), even if the kernel has forgotten that this user shares the port. The kernel
 * forgets this when another user binds the port at another address. Closed connections of other
 * programs then prevent `fd` from listening. To remind the kernel, a second socket of this user is
 * bound to the same address. If another user binds the port again before listen(), both steps are
 * repeated, at most REMINDERS times. Returns 0, or -1 with errno. */
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
		int status = listen(fd, SOMAXCONN);
		close_quietly(reminder);
		if (status == 0 || errno != EADDRINUSE)
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

/* Writes "/proc/self/fd/N" without printf(), which is not async-signal-safe. */
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
 * Opens the null device so that fchmod() cannot change its mode. A confined process of root still
 * owns /dev/null, so it needs no capability for fchmod(). Therefore the device is opened through a
 * read-only mount that contains only this file and is attached to no directory. On a file that was
 * opened through such a mount, fchmod() fails with EROFS, but a device can still be written to. If
 * the mount fails, the device is opened by its path. A user other than root may not mount, but
 * cannot change the mode either.
 */
int descriptor_null(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	char link[LINK_NAME] = "";
	int null = -1, tree = open_tree(AT_FDCWD, NULL_DEVICE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0) {
		write_link_of(tree, link);
		null = open(link, O_RDWR | O_CLOEXEC);
	}
	if (tree >= 0)
		close(tree);
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
	/* The system call close_range() was refused, perhaps by a seccomp filter that does not know
	 * this call. So each descriptor is closed by a separate call. */
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

/* Puts the pid of this process into the path of a socket, if this is possible. A socket and its
 * connections keep the path to which the socket was bound, and /proc/net/unix lists this path. So
 * the path shows to which process the socket and its connections belong. Seen from another pid
 * namespace, the pid may be that of another process. */
static void name_by_process(int dirfd, const char *name, struct sockaddr_un *addr)
{
	struct sockaddr_un named = {.sun_family = AF_UNIX};
	char directory[32];
	struct stat ours, theirs;
	int n = snprintf(named.sun_path, sizeof(named.sun_path), "/proc/%d/fd/%d/%s", (int)getpid(),
			 dirfd, name);

	snprintf(directory, sizeof(directory), "/proc/%d/fd/%d", (int)getpid(), dirfd);
	if (n >= 0 && (size_t)n < sizeof(named.sun_path) && fstat(dirfd, &ours) == 0 &&
	    stat(directory, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino)
		*addr = named;
}

int descriptor_bind_at(int sock, int dirfd, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int n = snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/thread-self/fd/%d/%s", dirfd,
			 name);

	if (n < 0 || (size_t)n >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* bind() creates the file with the mode of the socket itself. So at no time can other users
	 * connect, and the umask of the process need not be changed. */
	if (fchmod(sock, S_IRUSR | S_IWUSR) < 0)
		return -1;
	name_by_process(dirfd, name, &addr);
	return bind(sock, (const struct sockaddr *)&addr, sizeof(addr));
}

/* Opens the socket file itself, and connects through its descriptor, since connect() by path would
 * follow a symbolic link. */
int descriptor_connect_at(int sock, int dirfd, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;

	if (strlen(name) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	autoclose int target = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0 || fstat(target, &st) < 0)
		return -1;
	if (!S_ISSOCK(st.st_mode)) {
		errno = S_ISLNK(st.st_mode) ? ELOOP : ECONNREFUSED;
		return -1;
	}
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/thread-self/fd/%d", target);
	return connect(sock, (const struct sockaddr *)&addr, sizeof(addr));
}
