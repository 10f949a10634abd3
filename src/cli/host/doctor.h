/* SPDX-License-Identifier: MIT */
/* The output of `doctor`. The command `setup` prints it too. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"

/* Prints the answer of microagent_doctor(), one line for each check. If `all` is false, prints only
 * the checks that are not ok. With --json prints the whole answer as it is. Adds the remedies that
 * are commands of this program. */
int doctor_print(const struct cli *cli, const json_t *answer, bool all, struct error *err);

#endif
