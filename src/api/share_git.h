/* SPDX-License-Identifier: MIT */
/*
 * A git worktree as a shared directory. The .git of a worktree is a file, which leads to a
 * directory of the repository (gitdir). That directory leads to the directory that all worktrees
 * have in common (commondir): gitrepository-layout(5), git-worktree(1). If these directories lie
 * outside of the shared directory, git works in the guest only if the guest has the common
 * directory as well, at the place to which .git leads in the guest.
 */
#ifndef API_SHARE_GIT_H
#define API_SHARE_GIT_H

#include <jansson.h>

#include "base/error.h"

/* The directory that a shared directory lacks for git. The members are NULL if the shared directory
 * is no worktree, or if .git leads to something in the shared directory. */
struct share_git {
	char *common; /* path of the common directory on the host; malloc'd */
	char *place;  /* path at which the guest must have it; malloc'd */
};

/*
 * Looks for the common directory of `dir`, which the guest has at `mountpoint`. A guest that may
 * write to `dir` could make .git lead to any directory. So .git counts only as `git worktree add`
 * writes it, and only if the repository leads back to this very .git. ERR_INVALID: .git leads
 * outside in any other way, or to a place of the guest's own system.
 */
int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err);
void share_git_free(struct share_git *git);
#define auto_share_git __attribute__((cleanup(share_git_free)))

/* Appends the missing common directories to shares, an array of {"path", "mountpoint", "mode", ...,
 * "tag"}. A common directory gets the other settings of the share that leads there. ERR_INVALID: as
 * for share_git_find(), or a common directory holds one of the shares or lies in one. If it fails,
 * some may have been appended. */
int share_git_add(json_t *shares, struct error *err);

#endif
