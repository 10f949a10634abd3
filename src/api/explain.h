/* SPDX-License-Identifier: MIT */
/* Errors that say why nothing can be done in a workspace, from the files of the workspace. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "store/store.h"

/* Checks that the machine runs. Returns -1 with ERR_CONFLICT if not. The message says what state it
 * is in instead and how to change that. */
int explain_must_run(const struct workspace *ws, struct error *err);
/* Explains an error *why of a question to the workspace's supervisor, if the error is that nobody
 * listens. A machine that runs according to its record is just ending. */
void explain_nobody_listens(const struct workspace *ws, struct error *why);
/* Sets the error for a machine that ended during a command. The message names the workspace, which
 * the caller can look at. Returns -1. */
int explain_lost(const struct workspace *ws, struct error *err);
/* Checks whether a guest does not answer because it is paused. Returns 0 if err may be about a
 * silent guest that is not paused; -1 if err now says that the guest is paused and how it goes on,
 * or if err is about something else. */
int explain_paused(const struct workspace *ws, struct error *err);
/* Adds the reason, with the workspace as its subject, to an error of a guest that was not reached
 * in time or is silent. Returns -1. */
int explain_unreached(const struct workspace *ws, struct error *err);

/* Changes an error about a missing file that the workspace was made of: the message names the
 * workspace instead of the request's field. The subject of REASON_ROOT_MISSING is the workspace's
 * name then. Returns -1. */
int explain_missing_file(const char *id, struct error *err);

#endif
