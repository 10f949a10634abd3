/* SPDX-License-Identifier: MIT */
/* A pseudo-terminal for one command. */
#ifndef GUEST_PTY_H
#define GUEST_PTY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The size of a terminal, in characters, for a request that gives no size. */
#define PTY_ROWS 24
#define PTY_COLUMNS 80
#define PTY_SIZE_MAX UINT16_MAX /* the largest number of rows or columns of a terminal */

struct pty {
	int master; /* the master's file descriptor, which is non-blocking */
	int terminal;
};

#define PTY_MULTIPLEXER "/dev/ptmx"
/* Opens a pseudo-terminal. `ptmx` is the path of the device that creates terminals:
 * PTY_MULTIPLEXER, or such a device in a container. The caller closes both file descriptors of
 * *out. Returns -1 with err set on failure. */
int pty_open(const char *ptmx, uint16_t rows, uint16_t columns, uid_t owner, struct pty *out,
	     struct error *err);
int pty_resize(int master, uint16_t rows, uint16_t columns, struct error *err);
/* Returns the id of the process group in the foreground, or 0 if there is none. */
pid_t pty_foreground(int master);

#endif
