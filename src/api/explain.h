/* SPDX-License-Identifier: MIT */
/* What to say when nothing can be done in a workspace, from what its files say of it. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "store/store.h"

/* -1: ERR_CONFLICT with what it is instead of running, and how to change that. */
int explain_must_run(const struct workspace *ws, struct error *err);
/* *why is of a question to its supervisor: why nobody listens, if that is it. One that runs by its
 * record is just ending. */
void explain_nobody_listens(const struct workspace *ws, struct error *why);
/* The machine has gone from under a command: names the workspace, which is what the caller can look
 * at. Returns -1. */
int explain_lost(const struct workspace *ws, struct error *err);
/* A guest that does not answer may be paused: -1 where that is what err says now, and what would
 * make it go on, or where err is about something else. */
int explain_paused(const struct workspace *ws, struct error *err);
/* Where the guest was not reached in time, or is silent, says so as a reason, of the workspace.
 * Returns -1. */
int explain_unreached(const struct workspace *ws, struct error *err);

/* Where err says that a file which the workspace was made of does not exist, names the workspace in
 * the place of the request's field. The subject of REASON_ROOT_MISSING is its name then. Returns
 * -1. */
int explain_missing_file(const char *id, struct error *err);

#endif
