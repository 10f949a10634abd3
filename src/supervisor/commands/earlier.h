/* SPDX-License-Identifier: MIT */
/* What an earlier life of a workspace left in its directory. */
#ifndef SUPERVISOR_EARLIER_H
#define SUPERVISOR_EARLIER_H

#include "store/store.h"

/* ERR_IO naming the first file that is damaged: it may be the only trace of what happened, and
 * nothing is put in its place. */
int earlier_check(const struct workspace *ws, struct error *err);

/* Keeps the manifest that is about to be replaced, and says in *kept whether there is one. */
int earlier_keep_manifest(const struct workspace *ws, bool *kept, struct error *err);
/* Puts it back, which takes no room on the disk; without one, none is there afterwards. */
void earlier_restore_manifest(const struct workspace *ws, bool kept);
void earlier_drop_manifest(const struct workspace *ws);

/* Removes what an earlier VM left: result, process list, digest and console. */
int earlier_forget(const struct workspace *ws, struct error *err);

#endif
