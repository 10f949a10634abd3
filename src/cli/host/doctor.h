/* SPDX-License-Identifier: MIT */
/* The output of `doctor`, which `setup` prints too. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"

/* Prints the answer of microagent_doctor(): a line for each check (all), or only for the checks
 * that are not ok. With --json prints the whole answer. Adds remedies that are commands of this
 * program. */
int doctor_print(const struct cli *cli, const json_t *answer, bool all, struct error *err);

#endif
