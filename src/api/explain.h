/* SPDX-License-Identifier: MIT */
/* Makes errors that say why nothing can be done in a workspace. The files of the workspace show the
 * reason. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "store/store.h"

/* Checks that the machine of the workspace runs. If not, returns -1 with ERR_CONFLICT. The message
 * names the state of the workspace. By the error's reason, a front end finds the command that
 * changes the state. Also returns -1 if the state cannot be read. */
int explain_must_run(const struct workspace *ws, struct error *err);
/* *why is the error of a connection to a process of the workspace's machine. If no process listens
 * (ENOENT, ECONNREFUSED), replaces this error. The new error names the state of the workspace. If
 * the record says that the workspace runs, the new error says that it is ending or not yet
 * running. */
void explain_nobody_listens(const struct workspace *ws, struct error *why);
/* Changes *err, the error of a command whose connection was lost. The new error names the
 * workspace, and says one of these: the machine is paused, the guest does not answer, or the
 * machine ended during the command. Returns -1. */
int explain_lost(const struct workspace *ws, struct error *err);
/* Checks whether a guest does not answer because its machine is paused. If the machine is paused,
 * sets *err to an error that says so, and returns -1. If *err cannot mean that the guest does not
 * answer, leaves *err unchanged and returns -1. Otherwise returns 0. */
int explain_paused(const struct workspace *ws, struct error *err);
/* Adds REASON_GUEST_SILENT, with the workspace as its subject, to an ERR_TIMEOUT that has no reason
 * yet. Changes no other error. Returns -1. */
int explain_unreached(const struct workspace *ws, struct error *err);

/* Changes an error about a missing file from which the workspace was made. The message then names
 * the workspace, and not the field of the request. The subject of REASON_ROOT_MISSING becomes the
 * name of the workspace. Returns -1. */
int explain_missing_file(const char *id, struct error *err);

#endif
