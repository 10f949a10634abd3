/* SPDX-License-Identifier: MIT */
/* Functions for descriptors: complete reads and writes, descriptors that are sent to other
 * processes, Unix sockets by their directory. All new descriptors are O_CLOEXEC, unless the comment
 * of a function says otherwise. */
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
/* Writes some bytes to a descriptor of any kind, which poll() has just reported as writable. Never
 * waits for the reader. To a pipe or a terminal it writes at most PIPE_BUF bytes, because poll()
 * does not guarantee room for more. Returns what write() returns: -1 with errno on failure. SIGPIPE
 * is never raised for sockets. */
ssize_t fd_write_some(int fd, const void *data, size_t len);
/* Reads exactly `len` bytes. Fails with ERR_IO and errnum 0 if the input ends earlier. */
int fd_read_exact(int fd, void *data, size_t len, struct error *err);
/* Reads once, and appends to `out`. Returns 1 if more may follow, 0 at the end, -1 on failure.
 * ERR_INVALID if there is more than out->limit allows. */
int fd_read_some(int fd, struct buf *out, struct error *err);
/* Reads until the end, and appends to `out`. ERR_INVALID if there is more than out->limit
 * allows. */
int fd_read_to_end(int fd, struct buf *out, struct error *err);
int fd_pipe(int ends[2], struct error *err);	   /* ends[0] is for reading, ends[1] for writing */
int fd_socketpair(int ends[2], struct error *err); /* two joined AF_UNIX stream sockets */
/* Returns a file in memory that holds data, with its position at 0. On Linux it is a memfd without
 * seals. */
int fd_memfd(const char *name, const void *data, size_t len, struct error *err);
/* Waits until `fd` is readable (events: POLLIN) or writable (POLLOUT). ERR_TIMEOUT if the deadline
 * (on clock_mono_ns(); UINT64_MAX: no deadline) passes first. */
int fd_wait(int fd, short events, uint64_t deadline_ns, struct error *err);
/* Returns the time that is left until the deadline, in *left; NULL if there is no deadline. The
 * time is 0 if the deadline has passed. The time is also 0 if the clock is virtual, because such a
 * clock would never reach the deadline. */
const struct timespec *fd_time_left(uint64_t deadline_ns, struct timespec *left);
/* Returns whether dirfd/name is the very file that is open as `fd`, and not a link to it. A lock
 * belongs to a file and not to its name. So a process that has locked a file must check this: if
 * the file has lost its name meanwhile, other processes lock another file. */
bool fd_has_name(int fd, int dirfd, const char *name);
/* Raises the limit on the open files of this process to `need`, or as far as the system allows.
 * Returns the limit that applies from now on. */
uint64_t fd_raise_limit(uint64_t need);
/* Returns whether an error number means that the process or the host has no free descriptor, or no
 * memory for a descriptor. If accept() fails with such an error, the connection keeps waiting. A
 * loop that keeps watching the listener would then call accept() again and again. */
bool fd_is_lacking(int errnum);
/* Closes every descriptor except 0, 1, 2 and the descriptors in `keep`, which need not be
 * sorted. */
void fd_close_others(const int *keep, size_t nkeep);
/* Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed. These descriptors are not
 * O_CLOEXEC. */
int fd_fill_standard(struct error *err);

/* Send and receive as sendmsg() and recvmsg() do, with descriptors in addition to the bytes. On a
 * receive *nfds is the number of descriptors that `fds` has room for, and becomes the number that
 * came. Descriptors for which there is no room are closed. Both return -1 with errno on failure. */
#define FD_PASS_MAX 8
ssize_t fd_send_passing(int sock, const void *data, size_t len, const int *fds, size_t nfds,
			int flags);
ssize_t fd_receive_passed(int sock, void *data, size_t len, int *fds, size_t *nfds, int flags);

/*
 * Unix stream sockets. Each socket is a name in a directory that is given by its descriptor, so the
 * directory's path may have any length.
 */
/* Makes a listening socket dirfd/name with mode 0600, and returns its descriptor, which is
 * non-blocking. Fails with errnum EADDRINUSE if the name exists: the caller unlinks it first. */
int sock_listen_at(int dirfd, const char *name, struct error *err);
/* Connects, and returns a blocking descriptor. ERR_TIMEOUT if the listener's backlog stays full for
 * DIAL_MS. */
int sock_connect_at(int dirfd, const char *name, struct error *err);
/* Connects without a wait, and returns a non-blocking descriptor. ERR_UNAVAILABLE if the listener's
 * backlog is full or nobody listens. */
int sock_connect_now_at(int dirfd, const char *name, struct error *err);
/* Accepts a connection, and returns a blocking descriptor, whether the listener is blocking or not.
 * ERR_UNAVAILABLE if no connection is waiting. */
int sock_accept(int fd, struct error *err);

#endif
