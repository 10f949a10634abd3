/* SPDX-License-Identifier: MIT */
/*
 * Gives a directory to a machine that is running. The machine's live supervisor reads the messages
 * of the guest, so the guest may have taken it over. So a directory must not be served only because
 * the live supervisor asks for it. A command cannot pass a descriptor of the directory to the live
 * supervisor, because with `..` the supervisor could get from this directory to the whole host. So
 * the command writes a pass. The pass is a file in the directory of locks, which neither the live
 * supervisor nor its VMM nor a share of the guest can reach. Then the command asks the live
 * supervisor for the share. The broker serves only the directories that the pass names.
 */
#ifndef STORE_SHARE_PASS_H
#define STORE_SHARE_PASS_H

#include "base/error.h"
#include "contract/request.h"
#include "store/share/rules.h"
#include "store/store.h"

/* A directory in a pass, and the terms under which it is served. */
struct share_pass_row {
	struct share_wish wish;
	struct share_terms terms;
};
/* Writes a pass that gives `count` directories to the workspace `ws`. Returns a descriptor of the
 * pass. The pass is valid until share_pass_end(). The errors are those of share_open_allowed(), and
 * these two. ERR_CONFLICT: another command has a pass for `ws`. ERR_INVALID: a path is not
 * UTF-8. */
int share_pass_give(const struct workspace *ws, const struct share_pass_row *rows, size_t count,
		    struct error *err);
void share_pass_end(int *pass); /* accepts -1 */
#define autopass __attribute__((cleanup(share_pass_end)))

/* Opens a directory of a workspace's pass with O_PATH, and sets *terms. Returns the descriptor,
 * which the caller closes. `workspace` is the path of the workspace. `number` is the directory's
 * position in the pass, from 0. The rules are applied to the directory a second time. `base` has
 * the members of the wish that are not in the pass. ERR_DENIED: the pass has no such directory, or
 * the pass is for reading and `base` is for writing. ERR_CONFLICT: the path now leads to another
 * directory. The other errors are those of share_open_allowed(). */
int share_pass_redeem(const char *workspace, size_t number, const struct share_wish *base,
		      struct share_terms *terms, struct error *err);

#endif
