/* SPDX-License-Identifier: MIT */
/*
 * The user's terminal while it is lent to a guest: raw, and made as it was before however we end. A
 * child in a session of its own sees to that when we are killed: it holds the other end of a pipe.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

#define TERMINAL_ESCAPE 0x1d /* Ctrl-] */

struct terminal {
	int fd;
	struct termios saved;
	pid_t guardian;
	int guardian_pipe;
	int resized; /* readable when the window's size has changed */
};

/* fd is a terminal. SIGWINCH is blocked from here on. */
int terminal_raw(struct terminal *terminal, int fd, struct error *err);
void terminal_restore(struct terminal *terminal);
/* data is the struct terminal; takes what is readable on `resized`. 24 by 80 where it is unknown. */
void terminal_size(void *data, uint16_t *rows, uint16_t *columns);

#endif
