/* SPDX-License-Identifier: MIT */
/* Errors that say why nothing can be done in a workspace. The reason is found in the files of the
 * workspace. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "store/store.h"

/* Checks that the machine of the workspace runs. If not, returns -1 with ERR_CONFLICT. The message
 * names the state of the workspace. From the reason a front end finds the command that changes the
 * state. Also returns -1 if the state cannot be read. */
int explain_must_run(const struct workspace *ws, struct error *err);
/* Replaces *why, the error of a connection to a process of the workspace's machine, if no process
 * listens (ENOENT, ECONNREFUSED). The new error names the state of the workspace. If the record
 * says that the workspace runs, the new error says that it is ending or not yet running. */
void explain_nobody_listens(const struct workspace *ws, struct error *why);
/* Changes *err, the error of a command whose connection was lost. The new error says that the
 * machine is paused, that the guest is silent, or else that the machine ended during the command,
 * and names the workspace. Returns -1. */
int explain_lost(const struct workspace *ws, struct error *err);
/* Checks whether a guest does not answer because its machine is paused. Returns 0 if *err may mean
 * that the guest does not answer, but the machine is not paused. Returns -1 in two cases: the
 * machine is paused, and *err now says so; or *err is about another fault, and is unchanged. */
int explain_paused(const struct workspace *ws, struct error *err);
/* Adds REASON_GUEST_SILENT, with the workspace as its subject, to an ERR_TIMEOUT that has no reason
 * yet. Changes no other error. Returns -1. */
int explain_unreached(const struct workspace *ws, struct error *err);

/* Changes an error that says that one of the files of which the workspace was made is missing. The
 * message then names the workspace instead of the field of the request. The subject of
 * REASON_ROOT_MISSING becomes the name of the workspace. Returns -1. */
int explain_missing_file(const char *id, struct error *err);

#endif
