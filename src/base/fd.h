/* SPDX-License-Identifier: MIT */
/* Descriptors: complete reads and writes, passing them to other processes, sockets by directory.
 * All new descriptors are O_CLOEXEC. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"

int fd_nonblock(int fd, bool on, struct error *err);
int fd_cloexec(int fd, bool on, struct error *err);
/* Writes all bytes to a blocking descriptor. EINTR is retried; SIGPIPE is never raised for
 * sockets. */
int fd_write_all(int fd, const void *data, size_t len, struct error *err);
/* Writes some bytes to a descriptor of any kind that poll() has called writable, without waiting
 * for a reader: a pipe or a terminal guarantees room only for PIPE_BUF bytes. Returns what write()
 * returns, -1 with errno on failure. SIGPIPE is never raised for sockets. */
ssize_t fd_write_some(int fd, const void *data, size_t len);
/* Reads exactly len bytes. If the data end before, that is ERR_IO with errnum 0. */
int fd_read_exact(int fd, void *data, size_t len, struct error *err);
/* Reads once into out. Returns 1 if more may follow, 0 at the end, -1 on failure. More than
 * out->limit is ERR_INVALID. */
int fd_read_some(int fd, struct buf *out, struct error *err);
/* Reads until the end. More than out->limit is ERR_INVALID. */
int fd_read_to_end(int fd, struct buf *out, struct error *err);
int fd_pipe(int ends[2], struct error *err);	   /* [0] read, [1] write */
int fd_socketpair(int ends[2], struct error *err); /* AF_UNIX stream */
/* Returns a file in memory that holds data, positioned at 0. Where the system has such, it is a
 * memfd without seals. */
int fd_memfd(const char *name, const void *data, size_t len, struct error *err);
/* Waits until fd is readable (POLLIN) or writable (POLLOUT), or until the deadline on the monotonic
 * clock (clock_mono_ns(); UINT64_MAX for none). ERR_TIMEOUT when the deadline passes. */
int fd_wait(int fd, short events, uint64_t deadline_ns, struct error *err);
/* Returns the time that is left until the deadline: NULL if there is no deadline, 0 if it has
 * passed or the clock is virtual, since a clock that stands still never reaches it. */
const struct timespec *fd_time_left(uint64_t deadline_ns, struct timespec *left);
/* Returns whether dirfd/name is the file that fd is, and no link to it. A lock belongs to a file
 * and not to its name: a process that locked a file which lost its name meanwhile has locked
 * nothing. */
bool fd_has_name(int fd, int dirfd, const char *name);
/* Raises the number of files that this process may have open to `need`, or as far as is allowed.
 * Returns the number that then applies. */
uint64_t fd_raise_limit(uint64_t need);
/* Closes every descriptor except 0-2 and those in keep, which need not be sorted. */
void fd_close_others(const int *keep, size_t nkeep);
/* Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed. These are not O_CLOEXEC,
 * unlike all others here. */
int fd_fill_standard(struct error *err);

/* Send and receive as sendmsg() and recvmsg() do, with descriptors beside the bytes. *nfds is the
 * number of descriptors that there is room for, and becomes the number that came. Descriptors for
 * which there is no room are closed. */
#define FD_PASS_MAX 8
ssize_t fd_send_passing(int sock, const void *data, size_t len, const int *fds, size_t nfds,
			int flags);
ssize_t fd_receive_passed(int sock, void *data, size_t len, int *fds, size_t *nfds, int flags);

/*
 * Unix stream sockets named inside a directory given by descriptor, so that the length of the
 * directory's path is no limit.
 */
/* Listens with mode 0600; the socket is non-blocking. Fails with EADDRINUSE if the name exists: the
 * caller unlinks it. */
int sock_listen_at(int dirfd, const char *name, struct error *err);
/* Connects; the socket is blocking. ERR_TIMEOUT if the backlog stays full for DIAL_MS. */
int sock_connect_at(int dirfd, const char *name, struct error *err);
/* Connects without waiting; the socket is non-blocking. ERR_UNAVAILABLE if the backlog is full or
 * nobody listens. */
int sock_connect_now_at(int dirfd, const char *name, struct error *err);
/* Accepts a connection as a blocking socket, whether the listener blocks or not. ERR_UNAVAILABLE if
 * none is waiting. */
int sock_accept(int fd, struct error *err);

#endif
