/* SPDX-License-Identifier: MIT */
/* What `doctor` finds, for `setup` too. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"

/* The answer of microagent_doctor(): a line for each check, or for those that are not ok alone;
 * with
 * --json the whole answer. A remedy that is a command of ours is put in. */
int doctor_print(const struct cli *cli, const json_t *answer, bool all, struct error *err);

#endif
