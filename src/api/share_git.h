/* SPDX-License-Identifier: MIT */
/*
 * Shares a git worktree with a guest so that git works there. In a worktree, .git is a file with
 * the path of a directory of the repository, the gitdir. The file commondir in the gitdir has the
 * path of the common directory, which all worktrees of the repository use: gitrepository-layout(5),
 * git-worktree(1). If these two directories are outside the shared directory, git works in the
 * guest only if the guest has the common directory too, at the path to which .git leads there.
 */
#ifndef API_SHARE_GIT_H
#define API_SHARE_GIT_H

#include <jansson.h>

#include "base/error.h"

/* The directory that the guest needs in addition to a shared directory, so that git works. The
 * members are NULL if the guest needs no other directory: the shared directory is not a worktree,
 * or git does not work on the host either, or .git leads to a directory in the shared directory. */
struct share_git {
	char *common; /* path of the common directory on the host; share_git_free() frees it */
	char *place;  /* path at which the guest must have the common directory; share_git_free()
		       * frees it */
};

/*
 * Searches the common directory for the shared directory `dir`, which the guest has at
 * `mountpoint`. A guest that may write to `dir` could make .git lead to any directory. So .git is
 * accepted only if it has the form that `git worktree add` writes, and if the repository leads back
 * to this .git. ERR_INVALID: .git leads to a directory outside `dir`, and was not accepted; or the
 * path in the guest belongs to the guest's operating system.
 */
int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err);
void share_git_free(struct share_git *git);
#define auto_share_git __attribute__((cleanup(share_git_free)))

/* Appends the missing common directories to `shares`, an array of {"path", "mountpoint", "mode",
 * ..., "tag"}. A common directory gets the settings of the share whose .git leads to it. If that
 * share has neither "cache" nor "timeoutSeconds", the common directory gets "cache":"none". ERR_INVALID: share_git_find() has failed, or
 * a common directory contains one of the shares or is in one of them. After a failure, some
 * directories may have been appended. */
int share_git_add(json_t *shares, struct error *err);

#endif
