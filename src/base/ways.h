/* SPDX-License-Identifier: MIT */
/*
 * The ways out of a machine: the connections and listeners that a broker has opened for its
 * machine. They are remembered by the inodes of their sockets. The kernel lists each open socket by
 * its inode, whichever process holds the socket, and also while the socket is on its way from one
 * process to another (SCM_RIGHTS). So the broker can find out whether one of these sockets is still
 * open, and need not know which process holds it.
 */
#ifndef BASE_WAYS_H
#define BASE_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/error.h"

/* Remembers a connection, or a listener with the address at which it accepts. */
int ways_note_connection(int fd, struct error *err);
int ways_note_listener(int fd, struct error *err);

/* Returns whether the socket with that inode was remembered. */
bool ways_has(unsigned long long inode);
/* Returns whether a listener at the address `listener` accepts connections to the address `local`.
 * A listener at the wildcard address accepts at every address with its port. */
bool way_accepts_at(const struct sockaddr_storage *listener, const struct sockaddr_storage *local);
/* Returns whether a remembered listener accepts at the address. */
bool ways_has_listener_at(const struct sockaddr_storage *local);

/* Forgets the listeners that accept at the address. The caller knows that another program of the
 * host has the port now. */
void ways_forget_listener_at(const struct sockaddr_storage *local);
/* Forgets the listeners at the address of the socket `fd`, which does not listen any more. Does so
 * only if the kernel lists no socket at this address: then no connection that these listeners
 * accepted is left, and a later connection at this address belongs to another program. */
void ways_forget_ended_listener(int fd);

/* Functions that read the kernel's lists of sockets. A ways_open_fn moves those inodes whose
 * sockets are open to the beginning of the array, in their order, and returns their number. It is
 * called when the array is full. A ways_used_fn returns whether there is a socket at any address at
 * which a listener of the given address accepts. */
typedef size_t ways_open_fn(unsigned long long *inodes, size_t count);
typedef bool ways_used_fn(const struct sockaddr_storage *listener);
/* Sets the two functions. Without them, no way is forgotten because the kernel's lists lack its
 * socket. */
void ways_forget_by(ways_open_fn *open, ways_used_fn *used);

#endif
