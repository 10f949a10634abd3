/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_COMMANDS_H
#define ARTIFACT_COMMANDS_H

#include "artifact/artifact.h"

struct artifact_command {
	const char *name, *args, *help;
	artifact_fn *fn;
	const char *options[9]; /* names of the command's options, except --json, which all commands
				 * have */
};

/* The commands of microagent-artifact on this operating system (linux/commands.c,
 * darwin/commands.c). An entry without a name ends the table. */
extern const struct artifact_command artifact_commands[];

#endif
