/* SPDX-License-Identifier: MIT */
/* The first commands of a machine that was made in advance, as a trial of the machine. */
#ifndef SESSION_FIRST_COMMANDS_H
#define SESSION_FIRST_COMMANDS_H

#include "api/api.h"

/* Runs a few commands in the same way as a real command: as the machine's usual user, and each
 * command on a connection of its own. It is an error if a command does not end by itself. The exit
 * status is ignored. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err);

#endif
