/* SPDX-License-Identifier: MIT */
/*
 * The user's terminal while it is lent to a guest: raw, and made as it was before however we end. A
 * child in a session of its own sees to that when we are killed: it holds the other end of a pipe.
 * When we are stopped (SIGTSTP) it is as it was meanwhile, and raw again when we go on.
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
	int fd;	     /* -1: there is none, and its size is made up */
	bool is_raw; /* or only looked at for its size */
	struct termios saved;
	pid_t guardian;
	int guardian_pipe;
	int resized; /* readable: terminal_size() has something to do; -1: it never has */
};

/* fd is a terminal. SIGWINCH, SIGTSTP and SIGCONT are blocked from here on. */
int terminal_raw(struct terminal *terminal, int fd, struct error *err);
/* in, if it is a terminal, made raw; else out, if it is one, for its size; else none. */
int terminal_open(struct terminal *terminal, int in, int out, struct error *err);
void terminal_restore(struct terminal *terminal);
/* data is the struct terminal; takes what is readable on `resized`, and stops us if that was asked.
 * 24 by 80 where the size is unknown. */
void terminal_size(void *data, uint16_t *rows, uint16_t *columns);

#endif
