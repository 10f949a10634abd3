/* SPDX-License-Identifier: MIT */
/* The environment variables of a guest command. The variables of files come first, and then those
 * of the command line. */
#ifndef CLI_ENV_FILE_H
#define CLI_ENV_FILE_H

#include "cli/cli.h"

struct env_list {
	char **items; /* NULL-terminated array of "NAME=VALUE"; NULL if the list is empty */
	size_t count;
};
void env_list_free(struct env_list *list); /* accepts a zeroed list */
#define auto_env __attribute__((cleanup(env_list_free)))

/* Reads the variables of each file. Then adds the words of `given`, which replace variables with
 * the same names. The files have the format of docker's --env-file. docs/microagent-run.1.scd has
 * the rules. A mistake in a file is a mistake of the user (exit 2). No error shows a text that may
 * be secret. The caller frees `list`, also after a failure. */
int env_list_fill(struct cli *cli, const struct cli_words *files, const struct cli_words *given,
		  struct env_list *list, struct error *err);

/* Returns "NAME=VALUE" from the environment of this program, or NULL if the variable is not set. */
const char *env_of_caller(const char *name);

#endif
