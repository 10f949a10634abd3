/* SPDX-License-Identifier: MIT */
/*
 * What systems make descriptors with and do to them, for fd.c, sock.c and whoever needs one that
 * these have not. All are O_CLOEXEC from their first moment where the system can do that; sockets
 * raise no SIGPIPE where it is theirs to say (elsewhere MSG_NOSIGNAL says it). -1 and errno.
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
/* AF_UNIX. SOCK_SEQPACKET keeps messages apart and tells their end; ENOTSUP where there is none. */
int descriptor_socketpair(int type, int ends[2]);
int descriptor_socket(int family, int type, int protocol, bool nonblock);
/* peer: who is at the other end, or NULL. */
int descriptor_accept(int listener, struct sockaddr_storage *peer, bool nonblock);
/* Binds the new TCP socket fd to a port by its number, and holds that port as
 * descriptor_hold_port() does. What is left of earlier connections of the port does not keep it
 * from that, unless the system cannot tell it from what another user has bound: Linux before 6.8
 * tells no more than what has SO_REUSEPORT, as connections of such a socket have. EADDRINUSE:
 * somebody else has the port, by a socket that listens or one that is bound alone. */
int descriptor_bind_port(int fd, const struct sockaddr *address, socklen_t len);
/* Ends the listening of a socket of descriptor_bind_port() without giving the port up: who connects
 * is refused, and no other user can bind the port or listen at it. Connections that were accepted
 * go on; those that wait to be accepted are reset. ENOTSUP: it listens, and the system can only let
 * it go on listening. */
int descriptor_hold_port(int fd);
/* Tells whether the TCP socket fd has a port of its own and no connection. getsockname() does not
 * tell that: after a connection has ended it may still answer the port that the kernel has taken
 * back. */
bool descriptor_has_port(int fd);
/* *guard becomes a socket that keeps other users from the same port in the other family of
 * addresses, by which they could come to the port of a socket of descriptor_bind_port() that does
 * not listen. -1: the system needs none. EADDRINUSE: somebody has that port, as above. */
int descriptor_guard_port(int fd, int *guard);
/* listen() of a socket that holds its port. */
int descriptor_listen(int fd);
/* recvmsg(), and what comes with it is O_CLOEXEC. */
ssize_t descriptor_receive(int sock, struct msghdr *message, int flags);
/* dup2(), with O_CLOEXEC or without; async-signal-safe. */
int descriptor_replace(int from, int to, bool cloexec);
/* The null device, for reading and writing. Where we are root, who gets the descriptor cannot change
 * the mode and the owner of the device by it, unless root may mount nothing. Async-signal-safe. */
int descriptor_null(void);
/* A file that is in no directory and empty. name: for people who look for it. */
int descriptor_memory(const char *name);
/* Closes all from `first` to `last`; async-signal-safe. */
void descriptor_close_span(unsigned first, unsigned last);
/* poll() to a deadline on the monotonic clock (UINT64_MAX: none), as fd_time_left() has it. */
int descriptor_poll(struct pollfd *fds, size_t count, uint64_t deadline_ns);
/* One step of a copy of len bytes from *at of a file, which goes on by as much, to where `to` is:
 * how many bytes, 0 at the end of the file. */
ssize_t descriptor_send_file(int to, int from, off_t *at, size_t len);

/* bind() with mode 0600, and connect(), of a Unix socket dirfd/name, whatever the length of the
 * directory's path. ENAMETOOLONG: the name alone is longer than the system takes. connect() follows
 * no symbolic link by that name (ELOOP). ECONNREFUSED: nobody listens, or it is no socket. */
int descriptor_bind_at(int sock, int dirfd, const char *name);
int descriptor_connect_at(int sock, int dirfd, const char *name);

#endif
