/* SPDX-License-Identifier: MIT */
/*
 * Lists the names of workspaces, sessions and snapshots in a state directory, for the completion of
 * names on a command line. These functions never ask another process, never wait, and never change
 * the state directory. (Other functions that list these things may do so.) They leave out things
 * that cannot be read. Each function returns an array of strings, which the caller releases, or
 * NULL.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <jansson.h>

/* List the names in a state directory. `state_dir` is the argument of the same name of
 * microagent_open(). */
json_t *names_of_workspaces(const char *state_dir);
json_t *names_of_sessions(const char *state_dir);
json_t *names_of_snapshots(const char *state_dir, const char *session);

#endif
