/* SPDX-License-Identifier: MIT */
/*
 * Lists names of the things in a state directory, for the completion of names on a command line.
 * Other functions list these things too, but they may ask another process, wait, or change the
 * state directory; these functions never do. They return arrays of strings, which the caller
 * releases. They leave out things that cannot be read, and may return NULL.
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
