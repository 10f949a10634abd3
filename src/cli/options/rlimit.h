/* SPDX-License-Identifier: MIT */
/* --rlimit NAME=SOFT[:HARD] into the form of microagent_exec.rlimits. Which names there are is
 * known to the guest, which refuses others. */
#ifndef CLI_RLIMIT_H
#define CLI_RLIMIT_H

#include <jansson.h>

#include "cli/cli.h"

/* *out: the object, to be freed, or NULL without words. A wrong word is the caller's error. */
int rlimit_words(struct cli *cli, const struct cli_words *words, json_t **out, struct error *err);

#endif
