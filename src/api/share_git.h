/* SPDX-License-Identifier: MIT */
/*
 * A git worktree as a shared directory. The .git of a worktree is a file, which names a directory
 * of the repository (gitdir). A file in gitdir names the directory that all worktrees have in
 * common (commondir): gitrepository-layout(5), git-worktree(1). If these two directories lie
 * outside of the shared directory, git works in the guest only if the guest has the common
 * directory too, at the path to which .git leads in the guest.
 */
#ifndef API_SHARE_GIT_H
#define API_SHARE_GIT_H

#include <jansson.h>

#include "base/error.h"

/* The directory that the guest needs in addition to a shared directory, so that git works. The
 * members are NULL if the shared directory is not a worktree, if git does not work on the host
 * either, or if .git leads to a directory within the shared directory. */
struct share_git {
	char *common; /* path of the common directory on the host; malloc'd */
	char *place;  /* path at which the guest must have the common directory; malloc'd */
};

/*
 * Looks for the common directory of the shared directory `dir`, which the guest has at
 * `mountpoint`. A guest that may write to `dir` could make .git lead to any directory. So .git is
 * accepted only if it has the form that `git worktree add` writes, and if the repository leads back
 * to this very .git. Otherwise the call fails with ERR_INVALID if .git leads outside of `dir`. It
 * also fails with ERR_INVALID if the path in the guest belongs to the guest's own system.
 */
int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err);
void share_git_free(struct share_git *git);
#define auto_share_git __attribute__((cleanup(share_git_free)))

/* Appends the missing common directories to `shares`, an array of {"path", "mountpoint", "mode",
 * ..., "tag"}. A common directory gets the settings of the share whose .git leads to it, but no
 * cache unless that share names one. Fails with ERR_INVALID like share_git_find(), and if a common
 * directory holds one of the shares or lies in one. After a failure some directories may have been
 * appended. */
int share_git_add(json_t *shares, struct error *err);

#endif
