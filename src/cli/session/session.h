/* SPDX-License-Identifier: MIT */
/* Commands of `session` that have a file of their own. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"

extern const struct cli_command session_stream, session_share, session_quota, session_destroy,
	session_gc;

/* A session of base has a shared directory: says who its programs are there, when they are not the
 * owner by default. base: its recorded metadata, or NULL. */
void session_warn_user(const struct cli *cli, const json_t *base);

#endif
