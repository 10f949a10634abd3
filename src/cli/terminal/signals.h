/* SPDX-License-Identifier: MIT */
/*
 * Signals to us while a command runs in a guest. They are blocked, and read where the command is
 * attended. Either each ends the command, or they are its own: then each is handed on, but for the
 * second SIGINT or SIGTERM, which ends the command whatever it makes of signals.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

struct signals {
	int fd;	    /* readable when one has come */
	int last;   /* what has been taken; 0: none yet */
	bool asked; /* a SIGINT or SIGTERM has been handed on */
};
#define SIGNALS_NONE     \
	{                \
		.fd = -1 \
	}

/* Those that end a command. */
int signals_open_ending(struct signals *out, struct error *err);
/* Those and the ones that are the command's business alone. */
int signals_open_forwarded(struct signals *out, struct error *err);
void signals_close(struct signals *signals);
/* data is the struct signals: as microagent_signals.next. */
int signals_next(void *data);
/* The one that ended it all. */
int signals_that_came(struct signals *signals);

#endif
