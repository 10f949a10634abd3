/* SPDX-License-Identifier: MIT */
/* Functions for descriptors: complete reads and writes, passing descriptors to other processes, and
 * Unix sockets that are named by a directory and a file name. All new descriptors are O_CLOEXEC,
 * unless the comment of a function says otherwise. */
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
/* Writes all bytes to a blocking descriptor. Goes on after EINTR. Raises no SIGPIPE for sockets. */
int fd_write_all(int fd, const void *data, size_t len, struct error *err);
/* Writes some bytes to a descriptor of any kind, which poll() has just reported as writable. Never
 * waits for the reader. To a pipe or a terminal it writes at most PIPE_BUF bytes, because poll()
 * does not guarantee room for more. Returns the number of bytes written, or -1 with errno on
 * failure. Raises no SIGPIPE for sockets. */
ssize_t fd_write_some(int fd, const void *data, size_t len);
/* Reads exactly `len` bytes. Fails with ERR_IO and errnum 0 if the input ends earlier. */
int fd_read_exact(int fd, void *data, size_t len, struct error *err);
/* Reads once, and appends to `out`. Returns 1 if more may follow, 0 at the end of the input, -1 on
 * failure. ERR_INVALID: the input is longer than out->limit allows. */
int fd_read_some(int fd, struct buf *out, struct error *err);
/* Reads until the end of the input, and appends to `out`. ERR_INVALID: the input is longer than
 * out->limit allows. */
int fd_read_to_end(int fd, struct buf *out, struct error *err);
int fd_pipe(int ends[2], struct error *err);	   /* ends[0] is for reading, ends[1] for writing */
int fd_socketpair(int ends[2], struct error *err); /* makes two connected AF_UNIX stream sockets */
/* Returns the descriptor of a file in memory that contains the `len` bytes at `data`, with its
 * offset at 0. On Linux the file is a memfd without seals. */
int fd_memfd(const char *name, const void *data, size_t len, struct error *err);
/* Waits until `fd` is readable (events: POLLIN) or writable (POLLOUT). ERR_TIMEOUT: the deadline
 * passed first. `deadline_ns` is a time of clock_mono_ns(); UINT64_MAX: there is no deadline. */
int fd_wait(int fd, short events, uint64_t deadline_ns, struct error *err);
/* Stores the remaining time until the deadline in *left, and returns `left`; returns NULL if there
 * is no deadline. The time is 0 if the deadline has passed. The time is also 0 if the clock is
 * virtual, since a virtual clock would never reach the deadline. */
const struct timespec *fd_time_left(uint64_t deadline_ns, struct timespec *left);
/* Returns true if the path dirfd/name names the file that is open as `fd`, and not a symbolic link
 * to it. A lock belongs to a file and not to its path. So a process that has locked a file must
 * check this: if the path was removed or replaced meanwhile, other processes lock another file. */
bool fd_has_name(int fd, int dirfd, const char *name);
/* Raises the limit on the open files of this process to `need`, or as far as the system allows.
 * Returns the limit that applies from now on. */
uint64_t fd_raise_limit(uint64_t need);
/* Returns true if an error number means that the process or the host has no free descriptor, or no
 * memory for one. If accept() fails with such an error, the connection stays in the queue. So a
 * loop that went on watching the listener would call accept() again and again. */
bool fd_is_lacking(int errnum);
/* Closes every descriptor except 0, 1, 2 and the descriptors in `keep`, which need not be
 * sorted. */
void fd_close_others(const int *keep, size_t nkeep);
/* Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed. These descriptors are not
 * O_CLOEXEC. */
int fd_fill_standard(struct error *err);

/* Like sendmsg() and recvmsg(), but also pass descriptors. Before a receive, *nfds is the number of
 * descriptors that `fds` has room for. After the receive, *nfds is the number of descriptors that
 * were received. Received descriptors that do not fit are closed. Both functions return the number
 * of bytes, or -1 with errno on failure. */
#define FD_PASS_MAX 8
ssize_t fd_send_passing(int sock, const void *data, size_t len, const int *fds, size_t nfds,
			int flags);
ssize_t fd_receive_passed(int sock, void *data, size_t len, int *fds, size_t *nfds, int flags);

/*
 * Unix stream sockets. Each socket is a file `name` in the directory `dirfd`. The path of the
 * directory may be longer than a socket address allows.
 */
/* Makes a listening socket dirfd/name with mode 0600, and returns its descriptor, which is
 * non-blocking. Fails with errnum EADDRINUSE if the name exists: the caller unlinks it first. */
int sock_listen_at(int dirfd, const char *name, struct error *err);
/* Connects, and returns a blocking descriptor. ERR_TIMEOUT: the listener's queue was full for
 * DIAL_MS. */
int sock_connect_at(int dirfd, const char *name, struct error *err);
/* Connects without waiting, and returns a non-blocking descriptor. ERR_UNAVAILABLE: the listener's
 * queue is full, or no process listens. */
int sock_connect_now_at(int dirfd, const char *name, struct error *err);
/* Accepts a connection, and returns a blocking descriptor, whether the listener is blocking or not.
 * ERR_UNAVAILABLE: no connection is waiting. */
int sock_accept(int fd, struct error *err);

#endif
