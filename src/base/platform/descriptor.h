/* SPDX-License-Identifier: MIT */
/*
 * The system's calls that make descriptors or change them, for fd.c, sock.c and other modules that
 * need a descriptor which these do not have. All are O_CLOEXEC from their first moment where the
 * system can do that. Sockets raise no SIGPIPE where that is a property of the socket (elsewhere
 * MSG_NOSIGNAL is used). Functions return -1 with errno on failure.
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
/* Makes a pair of AF_UNIX sockets. SOCK_SEQPACKET keeps messages apart and reports their end;
 * ENOTSUP where the system has none. */
int descriptor_socketpair(int type, int ends[2]);
int descriptor_socket(int family, int type, int protocol, bool nonblock);
/* Accepts a connection. Stores the address of the other end in peer, unless peer is NULL. */
int descriptor_accept(int listener, struct sockaddr_storage *peer, bool nonblock);
/* Binds the new TCP socket fd to a port by its number, and holds that port as
 * descriptor_hold_port() does. Remains of earlier connections of the port do not prevent that,
 * unless the system cannot distinguish them from a socket of another user: Linux before 6.8 shows
 * only sockets that have SO_REUSEPORT, as the connections of such a socket have. EADDRINUSE if
 * another program has the port, by a socket that listens or is only bound. */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len);
/* Ends the listening of a socket of descriptor_bind_port() without giving up the port: new
 * connections are refused, and no other user can bind the port or listen at it. Accepted
 * connections go on; those that wait to be accepted are reset. ENOTSUP if the socket listens, and
 * the system cannot end that. */
int descriptor_hold_port(int fd);
/* Returns whether the TCP socket fd has a port of its own and no connection. getsockname() does not
 * show that: after a connection has ended it may still return the port that the kernel has taken
 * back. */
bool descriptor_has_port(int fd);
/* Makes *guard a socket that keeps other users from the same port in the other family of addresses.
 * Through that port they could receive connections for the port of a socket of
 * descriptor_bind_port() that does not listen. -1 if the system needs none. EADDRINUSE if another
 * program has that port, as above. */
int descriptor_guard_port(int fd, int *guard);
/* Does listen() for a socket that holds its port. */
int descriptor_listen(int fd);
/* Does recvmsg(); the descriptors that come with it are O_CLOEXEC. */
ssize_t descriptor_receive(int sock, struct msghdr *message, int flags);
/* Does dup2(), with O_CLOEXEC or without; async-signal-safe. */
int descriptor_replace(int from, int to, bool cloexec);
/* Opens the null device for reading and writing. If this process is root, a process that gets the
 * descriptor cannot change the mode and the owner of the device through it, unless root may mount
 * nothing. Async-signal-safe. */
int descriptor_null(void);
/* Makes an empty file that is in no directory. name is only for people who look for the file. */
int descriptor_memory(const char *name);
/* Closes all descriptors from `first` to `last`; async-signal-safe. */
void descriptor_close_span(unsigned first, unsigned last);
/* Does poll() until a deadline on the monotonic clock (UINT64_MAX: none), like fd_time_left(). */
int descriptor_poll(struct pollfd *fds, size_t count, uint64_t deadline_ns);
/* Does one step of a copy of len bytes from offset *at of a file to the present place of `to`.
 * Returns the number of bytes, by which *at grows; 0 at the end of the file. */
ssize_t descriptor_send_file(int to, int from, off_t *at, size_t len);

/* Do bind() with mode 0600, and connect(), for a Unix socket dirfd/name; the directory's path may
 * have any length. ENAMETOOLONG if the name alone is longer than the system allows. connect()
 * follows no symbolic link by that name (ELOOP). ECONNREFUSED if nobody listens, or it is no
 * socket. */
int descriptor_bind_at(int sock, int dirfd, const char *name);
int descriptor_connect_at(int sock, int dirfd, const char *name);

#endif
