/* SPDX-License-Identifier: MIT */
/* The output of `doctor`. The command `setup` prints it too. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"

/* Prints the answer of microagent_doctor(). First adds a remedy to each check whose remedy is a
 * command of this program, since the library does not know these commands. Without --json prints
 * one line for each check; if `all` is false, only for checks that are not ok. With --json prints
 * the whole answer. */
int doctor_print(const struct cli *cli, const json_t *answer, bool all, struct error *err);

#endif
