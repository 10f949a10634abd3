/* SPDX-License-Identifier: MIT */
/*
 * A git worktree as a shared directory. Its .git is a file, which leads to a directory of the
 * repository (gitdir), and that to the directory that all worktrees have in common (commondir):
 * gitrepository-layout(5), git-worktree(1). Where these lie outside of the shared directory, git
 * works in the guest only if it has the common directory as well, at the place to which .git leads
 * there.
 */
#ifndef API_SHARE_GIT_H
#define API_SHARE_GIT_H

#include <jansson.h>

#include "base/error.h"

/* What `dir`, which the guest has at `mountpoint`, lacks for git. NULL: it is no worktree, or what
 * .git leads to lies in it. */
struct share_git {
	char *common; /* of the host; malloc'd */
	char *place;  /* where the guest is to have it; malloc'd */
};

/*
 * Looks for the common directory. A guest that may write to `dir` could have .git lead to any
 * directory. So .git counts only as `git worktree add` writes it, and only if the repository leads
 * back to this very .git.
 * ERR_INVALID: it leads outside in any other way, or to a place of the guest's own system.
 */
int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err);
void share_git_free(struct share_git *git);
#define auto_share_git __attribute__((cleanup(share_git_free)))

/* Appends to shares, each {"path", "mountpoint", "mode", ..., "tag"}, the common directories that
 * they lack, with what else is said of the share that leads there. ERR_INVALID: as of
 * share_git_find(), or a common directory holds one of the shares or lies in one. On failure some
 * may have been appended. */
int share_git_add(json_t *shares, struct error *err);

#endif
