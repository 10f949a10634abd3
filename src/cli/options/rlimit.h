/* SPDX-License-Identifier: MIT */
/* Converts --rlimit NAME=SOFT[:HARD] to the form of microagent_exec.rlimits. Does not check NAME.
 * Only the guest knows the valid names, and it refuses all others. */
#ifndef CLI_RLIMIT_H
#define CLI_RLIMIT_H

#include <jansson.h>

#include "cli/cli.h"

/* Sets *out to an object that the caller releases; to NULL if there are no words. A wrong word is a
 * mistake of the user (exit 2). */
int rlimit_words(struct cli *cli, const struct cli_words *words, json_t **out, struct error *err);

#endif
