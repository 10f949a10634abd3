/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/descriptor.h"

#define READ_CHUNK 65536

static int change_flag(int fd, int get, int set, int flag, bool on, struct error *err)
{
	int flags = fcntl(fd, get);

	if (flags < 0)
		return error_errno(err, errno, "descriptor %d", fd);
	int wanted = on ? flags | flag : flags & ~flag;
	if (wanted != flags && fcntl(fd, set, wanted) < 0)
		return error_errno(err, errno, "descriptor %d", fd);
	return 0;
}

int fd_nonblock(int fd, bool on, struct error *err)
{
	return change_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on, err);
}

int fd_cloexec(int fd, bool on, struct error *err)
{
	return change_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on, err);
}

int fd_write_all(int fd, const void *data, size_t len, struct error *err)
{
	const uint8_t *p = data;
	bool is_socket = true;

	while (len > 0) {
		ssize_t n = is_socket ? send(fd, p, len, MSG_NOSIGNAL) : write(fd, p, len);
		if (n < 0 && errno == ENOTSOCK && is_socket) {
			is_socket = false;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "write");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_write_some(int fd, const void *data, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) == 0) {
		if (S_ISSOCK(st.st_mode))
			return send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
			return write(fd, data, len);
	}
	return write(fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

int fd_read_exact(int fd, void *data, size_t len, struct error *err)
{
	uint8_t *p = data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, p + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "read");
		if (n == 0)
			return error_set(err, ERR_IO,
					 "the file or stream ended after %zu of %zu bytes", got,
					 len);
		got += (size_t)n;
	}
	return 0;
}

/* If `out` is full, tries to read one more byte that would not be stored. If there is such a byte,
 * the input is too long. */
int fd_read_some(int fd, struct buf *out, struct error *err)
{
	size_t room = out->limit ? out->limit - out->len : READ_CHUNK;
	uint8_t over, *into = &over;
	ssize_t n;

	if (room > READ_CHUNK)
		room = READ_CHUNK;
	if (room > 0 && !(into = buf_reserve(out, room, err)))
		return -1;
	do
		n = read(fd, into, room > 0 ? room : 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, "read");
	if (n > 0 && room == 0)
		return error_set(err, ERR_INVALID, "the data has more than the limit of %zu bytes",
				 out->limit);
	buf_commit(out, (size_t)n);
	return n > 0;
}

int fd_read_to_end(int fd, struct buf *out, struct error *err)
{
	size_t before = out->len;
	int more;

	do
		more = fd_read_some(fd, out, err);
	while (more > 0);
	if (more < 0)
		out->len = before;
	return more;
}

int fd_pipe(int ends[2], struct error *err)
{
	int made[2];

	if (descriptor_pipe(made) < 0)
		return error_errno(err, errno, "pipe");
	ends[0] = made[0];
	ends[1] = made[1];
	return 0;
}

int fd_socketpair(int ends[2], struct error *err)
{
	int made[2];

	if (descriptor_socketpair(SOCK_STREAM, made) < 0)
		return error_errno(err, errno, "socket pair");
	ends[0] = made[0];
	ends[1] = made[1];
	return 0;
}

int fd_memfd(const char *name, const void *data, size_t len, struct error *err)
{
	autoclose int fd = descriptor_memory(name);

	if (fd < 0)
		return error_errno(err, errno, "memory file %s", name);
	if (fd_write_all(fd, data, len, err) < 0)
		return error_prefix(err, "memory file %s", name);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "memory file %s", name);
	return steal_fd(&fd);
}

const struct timespec *fd_time_left(uint64_t deadline_ns, struct timespec *left)
{
	uint64_t now = clock_mono_ns();
	uint64_t ns = deadline_ns > now ? deadline_ns - now : 0;

	if (deadline_ns == UINT64_MAX)
		return NULL;
	if (clock_is_virtual())
		ns = 0; /* a virtual clock never reaches a deadline, so nothing may wait for one */
	*left = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S)};
	return left;
}

int fd_wait(int fd, short events, uint64_t deadline_ns, struct error *err)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n;

	do
		n = descriptor_poll(&p, 1, deadline_ns);
	while (n < 0 && errno == EINTR);
	if (n < 0 || (p.revents & POLLNVAL))
		return error_errno(err, n < 0 ? errno : EBADF, "wait for descriptor %d", fd);
	if (n == 0)
		return error_set(err, ERR_TIMEOUT, "the deadline passed");
	return 0;
}

bool fd_has_name(int fd, int dirfd, const char *name)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Does not sort a copy of `keep`, because this function is also called between fork() and exec(),
 * where malloc() may not be called. */
void fd_close_others(const int *keep, size_t nkeep)
{
	unsigned first = 3;

	for (;;) {
		unsigned next = UINT_MAX;
		for (size_t i = 0; i < nkeep; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= first && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next == UINT_MAX)
			break;
		if (next > first)
			descriptor_close_span(first, next - 1);
		first = next + 1;
	}
	descriptor_close_span(first, UINT_MAX);
}

int fd_fill_standard(struct error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* open() returns the lowest free number, which is `fd`. The descriptor is not
		 * O_CLOEXEC, because programs that this process executes expect the descriptors 0,
		 * 1 and 2. */
		if (open("/dev/null", O_RDWR) != fd)
			return error_errno(err, errno, "/dev/null as descriptor %d", fd);
	}
	return 0;
}

bool fd_is_lacking(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == ENOBUFS;
}

uint64_t fd_raise_limit(uint64_t need)
{
	struct rlimit before, raised;

	if (getrlimit(RLIMIT_NOFILE, &before) < 0)
		return need;
	if (before.rlim_cur >= need)
		return before.rlim_cur;
	raised = before;
	raised.rlim_cur = before.rlim_max < need ? before.rlim_max : need;
	return setrlimit(RLIMIT_NOFILE, &raised) < 0 ? before.rlim_cur : raised.rlim_cur;
}
