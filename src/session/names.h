/* SPDX-License-Identifier: MIT */
/*
 * Names of what lies in a state directory, for who completes them on a command line: nothing is
 * asked, waited for, recorded or taken away, as it is by what lists them. Arrays of strings; what
 * cannot be read is none, and so is NULL.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <jansson.h>

/* state_dir: as of microagent_open(). */
json_t *names_of_workspaces(const char *state_dir);
json_t *names_of_sessions(const char *state_dir);
json_t *names_of_snapshots(const char *state_dir, const char *session);

#endif
