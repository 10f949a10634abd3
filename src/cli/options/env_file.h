/* SPDX-License-Identifier: MIT */
/* The variables of a command: those of files, then those of its own words. */
#ifndef CLI_ENV_FILE_H
#define CLI_ENV_FILE_H

#include "cli/cli.h"

struct env_list {
	char **items; /* NULL-terminated; NULL without any */
	size_t count;
};
void env_list_free(struct env_list *list); /* accepts a zeroed one */
#define auto_env __attribute__((cleanup(env_list_free)))

/* Reads each file (as docker's --env-file: docs/microagent.1.scd has the rules) and adds the words
 * of given, which so have the last word. What is wrong in a file is the caller's error (exit 2);
 * what may be a secret is never told. list is to be freed also on failure. */
int env_list_fill(struct cli *cli, const struct cli_words *files, const struct cli_words *given,
		  struct env_list *list, struct error *err);

/* NAME=VALUE as the caller of this program has it, or NULL. */
const char *env_of_caller(const char *name);

#endif
