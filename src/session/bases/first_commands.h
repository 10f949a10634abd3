/* SPDX-License-Identifier: MIT */
/* The first commands of a machine that was made before anybody needed it. */
#ifndef SESSION_FIRST_COMMANDS_H
#define SESSION_FIRST_COMMANDS_H

#include "api/api.h"

/* Runs a few commands in the same way as the next real command: by its user, each on a connection
 * of its own. It is an error if a command does not end by itself. Its exit status is ignored. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err);

#endif
