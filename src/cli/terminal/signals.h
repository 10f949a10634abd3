/* SPDX-License-Identifier: MIT */
/*
 * Signals to us while a command runs in a guest. They are blocked, and read where the command is
 * attended. Either each ends the command, or they are its own: then each is handed on, but for the
 * second SIGINT or SIGTERM, which ends the command whatever it makes of signals.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "cli/cli.h"

struct signals {
	int fd;	    /* readable when one has come */
	int last;   /* what has been taken; 0: none yet */
	bool asked; /* a SIGINT or SIGTERM has been handed on */
	sigset_t set;
};
#define SIGNALS_NONE     \
	{                \
		.fd = -1 \
	}

/* Those that end a command. */
int signals_open_ending(struct signals *out, struct error *err);
/* Those and the ones that are the command's business alone. */
int signals_open_forwarded(struct signals *out, struct error *err);
/* The signals stay blocked. */
void signals_close(struct signals *signals);
/* The signals do from now on what they do to any program, since what is printed next may wait for
 * its reader for ever. Those that have come are forgotten. */
void signals_give_back(struct signals *signals);
/* data is the struct signals: as microagent_signals.next. */
int signals_next(void *data);
/* One waits to be taken. */
bool signals_have_come(const struct signals *signals);
/* The one that ended it all. */
int signals_that_came(struct signals *signals);
/* Of a command that signals_open_ending() is for, which is over: its code, unless one of them ended
 * it. Then what it left unsaid is told, and the code is the signal's. */
int signals_end_command(const struct cli *cli, struct signals *signals, int code,
			const struct error *err);

#endif
