/* SPDX-License-Identifier: MIT */
/*
 * Receives signals to this program while a command runs in a guest. The signals are blocked, and
 * are read from a descriptor. There are two modes. In the ending mode each signal ends the command.
 * In the forwarding mode each signal is sent on to the command. In this mode the second SIGINT or
 * SIGTERM ends the command, even if the command ignores signals.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "cli/cli.h"

struct signals {
	int fd;	    /* a descriptor that becomes readable when a signal comes */
	int last;   /* the last signal that was read; 0: none yet */
	bool asked; /* true: a SIGINT or SIGTERM was sent on to the command */
	sigset_t set;
};
#define SIGNALS_NONE     \
	{                \
		.fd = -1 \
	}

/* Opens *out in the ending mode, and blocks the signals that end a command. */
int signals_open_ending(struct signals *out, struct error *err);
/* Opens *out in the forwarding mode, and blocks the signals that end a command and those that are
 * sent on to it. */
int signals_open_forwarded(struct signals *out, struct error *err);
/* Closes the descriptor. The signals stay blocked. */
void signals_close(struct signals *signals);
/* Discards pending signals, and gives the signals their default effect again. A command calls this
 * function before it prints output. The print may wait for the reader for ever, and a signal must
 * then be able to end the program. */
void signals_give_back(struct signals *signals);
/* Returns the next signal. `data` points to a struct signals. This function is used as the member
 * `next` of struct microagent_signals. */
int signals_next(void *data);
/* Returns true if a signal waits to be read. */
bool signals_have_come(const struct signals *signals);
/* Returns the signal that ended the command. */
int signals_that_came(struct signals *signals);
/* Closes the signals after a command for which signals_open_ending() was called. Returns `code`,
 * the result of the command, unless a signal has ended the command. In that case prints `err` as a
 * warning, and returns the exit code for the signal. */
int signals_end_command(const struct cli *cli, struct signals *signals, int code,
			const struct error *err);

#endif
