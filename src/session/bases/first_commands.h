/* SPDX-License-Identifier: MIT */
/* Tests a machine that was made in advance, by running its first commands. */
#ifndef SESSION_FIRST_COMMANDS_H
#define SESSION_FIRST_COMMANDS_H

#include "api/api.h"

/* Runs a few commands as users run them: as the machine's usual user, and each command on a
 * separate connection. Fails if a command does not end by itself. Ignores the exit status. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err);

#endif
