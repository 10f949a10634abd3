/* SPDX-License-Identifier: MIT */
/*
 * Names of the things in a state directory, for the completion of names on a command line. Unlike
 * the functions that list the same things, these functions ask no other process, wait for nothing,
 * record nothing and remove nothing. They return arrays of strings, which the caller releases. They
 * leave out things that cannot be read, and they may return NULL.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <jansson.h>

/* `state_dir` is as for microagent_open(). */
json_t *names_of_workspaces(const char *state_dir);
json_t *names_of_sessions(const char *state_dir);
json_t *names_of_snapshots(const char *state_dir, const char *session);

#endif
