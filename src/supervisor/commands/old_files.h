/* SPDX-License-Identifier: MIT */
/* The files that an earlier run of a workspace left in its directory. */
#ifndef SUPERVISOR_OLD_FILES_H
#define SUPERVISOR_OLD_FILES_H

#include "store/store.h"

/* Checks that the old files can be read. ERR_IO: a file is damaged, and the message names the first
 * such file. The caller must not replace a damaged file, since it may be the only trace of what
 * happened. */
int old_files_check(const struct workspace *ws, struct error *err);

/* Keeps the present manifest under a second name before a new manifest replaces it. Sets *kept to
 * true if there is a manifest, otherwise to false. */
int old_files_keep_manifest(const struct workspace *ws, bool *kept, struct error *err);
/* Restores the manifest that old_files_keep_manifest() has kept. Needs no room on the host's disk.
 * If `kept` is false, there was no manifest, so the function removes the one that was written
 * since. */
void old_files_restore_manifest(const struct workspace *ws, bool kept);
void old_files_drop_manifest(const struct workspace *ws);

/* Removes the files that an earlier machine has left: its result, the record of its processes, the
 * record of its disk's digest, and the output of its console. */
int old_files_remove(const struct workspace *ws, struct error *err);

#endif
