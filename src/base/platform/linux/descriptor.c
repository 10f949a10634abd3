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

enum { LINK_NAME = sizeof(LINK_FRONT) + 12 };

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
 *
 * One way to the port stays open for another user while the socket does not listen. He binds the
 * wildcard of the other family by SO_REUSEPORT, and then [::] for both: sk_reuseport_match() of
 * Linux compares the second one with the first alone.
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
