/* SPDX-License-Identifier: MIT */
/* What an earlier run of a workspace left in its directory. */
#ifndef SUPERVISOR_OLD_FILES_H
#define SUPERVISOR_OLD_FILES_H

#include "store/store.h"

/* ERR_IO naming the first file that is damaged: it may be the only trace of what happened, and
 * nothing is put in its place. */
int old_files_check(const struct workspace *ws, struct error *err);

/* Keeps the manifest that is about to be replaced, and says in *kept whether there is one. */
int old_files_keep_manifest(const struct workspace *ws, bool *kept, struct error *err);
/* Puts it back, which takes no room on the disk; without one, none is there afterwards. */
void old_files_restore_manifest(const struct workspace *ws, bool kept);
void old_files_drop_manifest(const struct workspace *ws);

/* Removes what an earlier VM left: result, process list, digest and console. */
int old_files_remove(const struct workspace *ws, struct error *err);

#endif
