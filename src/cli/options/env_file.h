/* SPDX-License-Identifier: MIT */
/* The environment variables of a guest command: first those of files, then those of the command
 * line. */
#ifndef CLI_ENV_FILE_H
#define CLI_ENV_FILE_H

#include "cli/cli.h"

struct env_list {
	char **items; /* NULL-terminated; NULL without any */
	size_t count;
};
void env_list_free(struct env_list *list); /* accepts a zeroed one */
#define auto_env __attribute__((cleanup(env_list_free)))

/* Reads the variables of each file, and then adds the words of `given`, which replace variables of
 * the same name. The files have the format of docker's --env-file; docs/microagent-run.1.scd has
 * the rules. A mistake in a file is the user's error (exit 2). No message shows text that may be a
 * secret. The caller frees list, also after a failure. */
int env_list_fill(struct cli *cli, const struct cli_words *files, const struct cli_words *given,
		  struct env_list *list, struct error *err);

/* Returns "NAME=VALUE" from the environment of this program, or NULL if the variable is not set. */
const char *env_of_caller(const char *name);

#endif
