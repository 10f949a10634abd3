/* SPDX-License-Identifier: MIT */
/* The first commands of a machine that was made before anybody wants one. */
#ifndef SESSION_FIRST_COMMANDS_H
#define SESSION_FIRST_COMMANDS_H

#include "api/api.h"

/* As the next one to come will be run: by its user, each on a connection of its own. That a command
 * ends otherwise than by itself is an error; how it ends is not. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err);

#endif
