/* SPDX-License-Identifier: MIT */
/* Descriptors: whole reads and writes, passing them, sockets by directory. All are O_CLOEXEC. */
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
/* Writes all of it to a blocking descriptor; EINTR is retried, SIGPIPE never raised on sockets. */
int fd_write_all(int fd, const void *data, size_t len, struct error *err);
/* Writes some of it to a descriptor of any kind that poll() has called writable, without waiting
 * for a reader: of a pipe or a terminal no more is promised to fit than PIPE_BUF bytes. As write(),
 * with -1 and errno; SIGPIPE is never raised on sockets. */
ssize_t fd_write_some(int fd, const void *data, size_t len);
/* Reads exactly len bytes. An early end is ERR_IO with errnum 0. */
int fd_read_exact(int fd, void *data, size_t len, struct error *err);
/* One read into out. 1: more may follow; 0: the end; -1. The limit is as below. */
int fd_read_some(int fd, struct buf *out, struct error *err);
/* Reads until the end. More than out->limit is ERR_INVALID. */
int fd_read_to_end(int fd, struct buf *out, struct error *err);
int fd_pipe(int ends[2], struct error *err);	   /* [0] read, [1] write */
int fd_socketpair(int ends[2], struct error *err); /* AF_UNIX stream */
/* A file in memory (where the system has such: a memfd without seals), holding data, positioned at
 * 0. */
int fd_memfd(const char *name, const void *data, size_t len, struct error *err);
/* Waits until fd is readable (POLLIN), writable (POLLOUT) or the deadline on the monotonic clock
 * (clock_mono_ns(); UINT64_MAX for none). ERR_TIMEOUT when it passes. */
int fd_wait(int fd, short events, uint64_t deadline_ns, struct error *err);
/* What is left to that deadline: NULL when there is none, 0 when it has passed or when the clock is
 * virtual, since one that stands still never reaches it. */
const struct timespec *fd_time_left(uint64_t deadline_ns, struct timespec *left);
/* Whether dirfd/name is the file that fd is, and no link to it. A lock belongs to a file and not to
 * its name: who has locked one that lost its name meanwhile has locked nothing. */
bool fd_has_name(int fd, int dirfd, const char *name);
/* Raises how many files this process may have open to `need`, or as far as it may be; returns what
 * it is then. */
uint64_t fd_raise_limit(uint64_t need);
/* Closes every descriptor except 0-2 and those listed (ascending or not). */
void fd_close_others(const int *keep, size_t nkeep);
/* Fills closed descriptors among 0, 1, 2 with /dev/null (not O_CLOEXEC, unlike all else here). */
int fd_fill_standard(struct error *err);

/* As sendmsg() and recvmsg(), with descriptors beside the bytes. *nfds: in, how many there is room
 * for; out, how many came. What there is no room for is closed. */
#define FD_PASS_MAX 8
ssize_t fd_send_passing(int sock, const void *data, size_t len, const int *fds, size_t nfds,
			int flags);
ssize_t fd_receive_passed(int sock, void *data, size_t len, int *fds, size_t *nfds, int flags);

/*
 * Unix stream sockets named inside a directory given by descriptor, so that the length of the
 * directory's path is no limit.
 */
/* Mode 0600, non-blocking. A name that is there already fails (EADDRINUSE): the caller unlinks. */
int sock_listen_at(int dirfd, const char *name, struct error *err);
/* Blocking. ERR_TIMEOUT when the backlog stays full for DIAL_MS. */
int sock_connect_at(int dirfd, const char *name, struct error *err);
/* Non-blocking, and without waiting: ERR_UNAVAILABLE when the backlog is full or nobody listens. */
int sock_connect_now_at(int dirfd, const char *name, struct error *err);
/* A blocking socket, whatever the listener is. ERR_UNAVAILABLE when none is waiting. */
int sock_accept(int fd, struct error *err);

#endif
