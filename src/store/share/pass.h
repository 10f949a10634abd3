/* SPDX-License-Identifier: MIT */
/*
 * How a directory is given to a machine that runs. The machine's live supervisor reads the messages
 * of the guest, and may have been taken over. So a request of the live supervisor alone is no
 * reason to serve a directory. If the command handed it a descriptor of the directory, `..` would
 * lead from that descriptor to the whole host. So the command writes a pass: a file beside the
 * command lock of the workspace. The live supervisor, its VMM and the guest's shares cannot reach
 * that file. Then the command asks the live supervisor for the share, and the broker serves only
 * the directories that the pass names.
 */
#ifndef STORE_SHARE_PASS_H
#define STORE_SHARE_PASS_H

#include "base/error.h"
#include "contract/request.h"
#include "store/share/rules.h"
#include "store/store.h"

/* A directory of a pass, and the terms on which it is served. */
struct share_pass_row {
	struct share_wish wish;
	struct share_terms terms;
};
/* Writes a pass that gives `count` directories to the workspace `ws`. Returns a descriptor of the
 * pass; the pass is valid until share_pass_end(). The errors are those of share_open_allowed(), and
 * also: ERR_CONFLICT: another command has a pass for `ws` at this time. ERR_INVALID: a path is not
 * UTF-8. */
int share_pass_give(const struct workspace *ws, const struct share_pass_row *rows, size_t count,
		    struct error *err);
void share_pass_end(int *pass); /* accepts -1 */
#define autopass __attribute__((cleanup(share_pass_end)))

/* Opens (O_PATH) a directory of the pass for a workspace, and sets *terms. `workspace` is the path
 * of the workspace. `number` is the directory's place in the pass, from 0. The directory is checked
 * by the rules again. `base` has the parts of the wish that the pass does not have. ERR_DENIED: the
 * pass has no such directory, or the pass is for reading and `base` is for writing. ERR_CONFLICT:
 * the path leads to another directory now. The other errors are those of share_open_allowed(). */
int share_pass_redeem(const char *workspace, size_t number, const struct share_wish *base,
		      struct share_terms *terms, struct error *err);

#endif
