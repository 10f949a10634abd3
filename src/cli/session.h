/* SPDX-License-Identifier: MIT */
/* Commands of `session` that have a file of their own. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"

extern const struct cli_command session_stream, session_share, session_quota, session_gc;

#endif
