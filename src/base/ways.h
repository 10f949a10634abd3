/* SPDX-License-Identifier: MIT */
/*
 * The connections and listeners that a broker has opened for its machine, by their inodes. The
 * kernel lists each open socket by its inode, whichever process holds the socket, and also while
 * the socket waits in another one to be received (SCM_RIGHTS). So the broker can tell whether one
 * of these sockets is open without looking for its holder.
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
/* Returns whether a listener at that address accepts at the other one: at the wildcard address a
 * listener accepts at every address with its port. */
bool way_accepts_at(const struct sockaddr_storage *listener, const struct sockaddr_storage *local);
/* Returns whether a remembered listener accepts at the address. */
bool ways_has_listener_at(const struct sockaddr_storage *local);

/* Forgets the listeners that accept at the address: another program of the host has the port
 * now. */
void ways_forget_listener_at(const struct sockaddr_storage *local);
/* Forgets the listeners at the address of the socket, which listens no more, if the kernel lists
 * nothing there. Then no connection of theirs is left, and a later one at that address is another
 * program's. */
void ways_forget_ended_listener(int fd);

/* Functions that read the kernel's lists. open moves the inodes that are open to the beginning of
 * the array, in their order, and returns their number; it is called when there are many. used
 * returns whether a socket is at an address where a listener of that address accepts. */
typedef size_t ways_open_fn(unsigned long long *inodes, size_t count);
typedef bool ways_used_fn(const struct sockaddr_storage *listener);
void ways_forget_by(ways_open_fn *open, ways_used_fn *used);

#endif
