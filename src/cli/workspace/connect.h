/* SPDX-License-Identifier: MIT */
/* The options and functions of `connect`. The command that opens a shell in a session uses them
 * too. */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "cli/options/guest.h"

struct connect_values {
	bool serial;
	const char *send, *user;
	int64_t timeout;
};
extern const struct cli_option connect_options[];

int connect_run(struct cli *cli, const struct connect_values *values, const char *name,
		guest_open_fn *open, struct error *err);

#endif
