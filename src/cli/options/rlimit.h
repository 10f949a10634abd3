/* SPDX-License-Identifier: MIT */
/* Converts --rlimit NAME=SOFT[:HARD] to the form of microagent_exec.rlimits. NAME is not checked
 * here: only the guest knows the valid names, and refuses all other names. */
#ifndef CLI_RLIMIT_H
#define CLI_RLIMIT_H

#include <jansson.h>

#include "cli/cli.h"

/* Sets *out to an object that the caller frees, or to NULL if there are no words. A wrong word is
 * the user's error. */
int rlimit_words(struct cli *cli, const struct cli_words *words, json_t **out, struct error *err);

#endif
