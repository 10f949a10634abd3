/* SPDX-License-Identifier: MIT */
/*
 * The calls of the operating system that make or change descriptors, for fd.c and sock.c. Other
 * modules use them if fd.c and sock.c lack the needed function. All new descriptors are O_CLOEXEC,
 * from the beginning if the system supports this. SIGPIPE is prevented by an option of the socket
 * on systems that have such an option; on other systems callers use MSG_NOSIGNAL. Functions return
 * -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_DESCRIPTOR_H
#define BASE_PLATFORM_DESCRIPTOR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

int descriptor_pipe(int ends[2]);
/* Makes a pair of connected AF_UNIX sockets. `type` is SOCK_STREAM or SOCK_SEQPACKET. The second
 * type keeps message boundaries and reports when the peer is closed. ENOTSUP: the system does not
 * have this type. */
int descriptor_socketpair(int type, int ends[2]);
int descriptor_socket(int family, int type, int protocol, bool nonblock);
/* Accepts a connection. Stores the address of the peer in *peer, unless `peer` is NULL. */
int descriptor_accept(int listener, struct sockaddr_storage *peer, bool nonblock);
/* Binds the new TCP socket `fd` to the port of the address, and keeps other users from the port as
 * descriptor_hold_port() does. Fails with EADDRINUSE if a socket of another program listens at the
 * port or is bound to it. The remains of closed connections (TIME_WAIT) do not matter, unless the
 * system cannot distinguish them from a socket of another user. Linux before 6.8 cannot do this:
 * there, they do not matter only if they come from sockets of this function, which have
 * SO_REUSEPORT. */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len);
/* Makes a socket of descriptor_bind_port() listen no more, but keep the port. New connections are
 * then refused, and no other user can bind the port or listen at it. Connections that were accepted
 * go on; connections that wait to be accepted are reset. Fails with ENOTSUP if the socket listens
 * and the system cannot make it stop listening. */
int descriptor_hold_port(int fd);
/* Returns true if the TCP socket `fd` is bound to a port and has no connection. getsockname() does
 * not show this: after the end of a connection, it may still return a port that the kernel has
 * given to another program. */
bool descriptor_has_port(int fd);
/* Makes *guard a socket that has the port of `fd` in the other family of addresses, IPv4 or IPv6.
 * `fd` is a socket of descriptor_bind_port() that does not listen. Without the guard another user
 * could bind the port in the other family, and so receive connections to the port of `fd`. Sets
 * *guard to -1 if the system needs no guard. EADDRINUSE: another program has that port in the other
 * family. */
int descriptor_guard_port(int fd, int *guard);
/* Calls listen() for a socket of descriptor_bind_port(). */
int descriptor_listen(int fd);
/* Calls recvmsg(). Descriptors that are passed with the message are O_CLOEXEC. */
ssize_t descriptor_receive(int sock, struct msghdr *message, int flags);
/* Works like dup2(), and sets or clears O_CLOEXEC of `to`. Async-signal-safe. */
int descriptor_replace(int from, int to, bool cloexec);
/* Opens the null device for reading and writing. If this process has the right to mount, then a
 * confined process of root that gets the descriptor cannot use it to change the mode or the owner
 * of the device. Async-signal-safe. */
int descriptor_null(void);
/* Makes an empty file that is in no directory. `name` is only shown to a person who lists
 * descriptors. */
int descriptor_memory(const char *name);
/* Closes all descriptors from `first` to `last`. Async-signal-safe. */
void descriptor_close_span(unsigned first, unsigned last);
/* Calls poll() with the time that fd_time_left() returns for the deadline. */
int descriptor_poll(struct pollfd *fds, size_t count, uint64_t deadline_ns);
/* Copies at most `len` bytes from the offset *at of the file `from` to the file offset of `to`.
 * Returns the number of copied bytes, and adds it to *at. Returns 0 at the end of the file. */
ssize_t descriptor_send_file(int to, int from, off_t *at, size_t len);

/* Bind a Unix socket to the new name dirfd/name, with mode 0600, and connect a Unix socket to
 * dirfd/name. The directory's path may have any length. ENAMETOOLONG: `name` alone is longer than
 * the system allows. descriptor_connect_at() follows no symbolic link (ELOOP), and fails with
 * ECONNREFUSED if no process listens, or if dirfd/name is not a socket. */
int descriptor_bind_at(int sock, int dirfd, const char *name);
int descriptor_connect_at(int sock, int dirfd, const char *name);

#endif
