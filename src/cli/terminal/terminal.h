/* SPDX-License-Identifier: MIT */
/*
 * The user's terminal, which is in raw mode while a guest uses it. The terminal gets its old mode
 * back however this program ends. For the case that the program is killed, there is a child process
 * in a session of its own: it notices the end of the program by a pipe, and restores the mode.
 * While the program is stopped (SIGTSTP) the terminal has its old mode; it is raw again when the
 * program continues.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

/* The byte that the user types to leave the terminal of the guest: Ctrl-]. */
#define TERMINAL_ESCAPE 0x1d

struct terminal {
	int fd;	     /* -1: there is no terminal, and terminal_size() gives a default */
	bool is_raw; /* false: only the terminal's size is used */
	struct termios saved;
	pid_t guardian; /* the child that restores the mode */
	int guardian_pipe;
	int resized; /* a descriptor that is readable when terminal_size() must be called; -1:
		      * none */
};

/* Makes the terminal `fd` raw. SIGWINCH, SIGTSTP and SIGCONT are blocked from then on. */
int terminal_raw(struct terminal *terminal, int fd, struct error *err);
/* Makes `in` raw if it is a terminal. If not, and `out` is a terminal, uses only the size of `out`.
 * If neither `in` nor `out` is a terminal, uses none. */
int terminal_open(struct terminal *terminal, int in, int out, struct error *err);
void terminal_restore(struct terminal *terminal);
/* Stores the size of the terminal; 24 by 80 if it is not known. `data` points to a struct terminal.
 * Reads all that is readable on `resized`, and stops this program if SIGTSTP has come. */
void terminal_size(void *data, uint16_t *rows, uint16_t *columns);

#endif
