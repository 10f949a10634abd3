/* SPDX-License-Identifier: MIT */
/* A pseudo-terminal for one command. */
#ifndef GUEST_PTY_H
#define GUEST_PTY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The size of a terminal, in characters, if the request names no size. */
#define PTY_ROWS 24
#define PTY_COLUMNS 80
#define PTY_SIZE_MAX UINT16_MAX /* the largest number of rows or columns */

struct pty {
	int master; /* the master, a non-blocking descriptor */
	int terminal;
};

#define PTY_MULTIPLEXER "/dev/ptmx"
/* Opens a pseudo-terminal. `ptmx` is the path of a multiplexer: PTY_MULTIPLEXER, or the multiplexer
 * of a container. */
int pty_open(const char *ptmx, uint16_t rows, uint16_t columns, uid_t owner, struct pty *out,
	     struct error *err);
int pty_resize(int master, uint16_t rows, uint16_t columns, struct error *err);
/* Returns the id of the process group in the foreground. Returns 0 if there is none. */
pid_t pty_foreground(int master);

#endif
