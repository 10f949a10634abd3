/* SPDX-License-Identifier: MIT */
/*
 * The user's terminal, which is in raw mode while a guest uses it. The terminal gets its old mode
 * back, however this program ends. If this program is killed, a child process in another session
 * restores the mode; the child notices the end of this program by a pipe. While this program is
 * stopped (SIGTSTP), the terminal has its old mode. When this program continues, the terminal
 * becomes raw again.
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
	int fd;	     /* the terminal; -1: there is none, and terminal_size() gives a default */
	bool is_raw; /* true: the terminal is raw; false: only its size is used */
	struct termios saved;
	pid_t guardian; /* the child that restores the mode */
	int guardian_pipe;
	/* a descriptor that is readable when terminal_size() must be called; -1: none */
	int resized;
};

/* Waits until the terminal `fd` belongs to this job, and makes it raw. SIGWINCH, SIGTSTP and
 * SIGCONT stay blocked from then on. */
int terminal_raw(struct terminal *terminal, int fd, struct error *err);
/* Makes `in` raw if it is a terminal. Otherwise uses only the size of `out`, if `out` is a
 * terminal. If neither is a terminal, sets terminal->fd to -1. */
int terminal_open(struct terminal *terminal, int in, int out, struct error *err);
void terminal_restore(struct terminal *terminal);
/* Stores the size of the terminal; 24 rows by 80 columns if it is not known. `data` points to a
 * struct terminal. Reads all that is readable on `resized`. Stops this program if SIGTSTP has
 * come. */
void terminal_size(void *data, uint16_t *rows, uint16_t *columns);

#endif
