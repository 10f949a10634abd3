/* SPDX-License-Identifier: MIT */
/*
 * The ways out of a machine: the connections and listeners that a broker has opened for its
 * machine. The broker remembers these connections and listeners by the inodes of their sockets. The
 * kernel lists each open socket by its inode, whichever process has the socket open, and also while
 * the socket is being passed from one process to another (SCM_RIGHTS). So the broker can find out
 * if one of these sockets is still open, without knowing which process has it open.
 */
#ifndef BASE_WAYS_H
#define BASE_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/error.h"

/* Remember a connection, or a listener with the address at which it accepts. Return 0, or -1 with
 * an error. */
int ways_note_connection(int fd, struct error *err);
int ways_note_listener(int fd, struct error *err);
/* Remembers the socket with the inode `inode` as a connection. */
int ways_note_inode(unsigned long long inode, struct error *err);

/* Returns true if the socket with the inode `inode` is remembered as a connection. */
bool ways_has(unsigned long long inode);
/* Returns true if a listener at the address `listener` accepts connections to the address `local`.
 * A listener at the wildcard address accepts at every address with its port. */
bool way_accepts_at(const struct sockaddr_storage *listener, const struct sockaddr_storage *local);
/* Returns true if a remembered listener accepts connections to the address `local`. */
bool ways_has_listener_at(const struct sockaddr_storage *local);

/* Forgets the listeners at the address of the socket `fd`, which does not listen any more. First
 * remembers each of their accepted connections that is still open. So a connection at this address
 * that is not remembered belongs to another program. If the connections cannot be remembered, the
 * listeners are not forgotten. */
void ways_forget_ended_listener(int fd);

/* Functions that read the kernel's lists of sockets. A ways_open_fn moves the inodes of open
 * sockets to the beginning of the array, without changing their order, and returns their number.
 * The function is called when the array is full. A ways_accepted_fn calls ways_note_inode() for
 * each open connection at an address at which a listener of the given address accepts. */
typedef size_t ways_open_fn(unsigned long long *inodes, size_t count);
typedef int ways_accepted_fn(const struct sockaddr_storage *listener, struct error *err);
/* Sets the two functions. Without these functions, nothing is ever forgotten. */
void ways_forget_by(ways_open_fn *open, ways_accepted_fn *accepted);

#endif
