/* SPDX-License-Identifier: MIT */
/*
 * How a directory is given to a machine that runs. The machine's live supervisor reads what the
 * guest says and may have been taken over. So a request from the live supervisor is no reason to
 * start anything. A descriptor of the directory would prove that somebody outside wants the share,
 * but `..` leads from there to the whole host. So the command writes a pass, which is a file beside
 * the workspace's lock. Neither that supervisor nor its VMM nor the guest's shares reach that
 * place. Then the command asks, and the broker goes by the file.
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
/* Returns a pass for `count` directories to ws, which holds until share_pass_end(). The errors are
 * those of share_dir_open(); ERR_CONFLICT: another command has a pass for ws at this time. */
int share_pass_give(const struct workspace *ws, const struct share_pass_row *rows, size_t count,
		    struct error *err);
void share_pass_end(int *pass); /* accepts -1 */
#define autopass __attribute__((cleanup(share_pass_end)))

/* Opens (O_PATH) the directory of this number, from 0 on, in the pass of the workspace at this
 * path. The directory is checked by the rules. base has the parts of the wish that the pass does
 * not say. ERR_DENIED: there is no such directory, or the pass is for reading and base is for
 * writing. ERR_CONFLICT: the path leads to another directory by now. */
int share_pass_redeem(const char *workspace, size_t number, const struct share_wish *base,
		      struct share_terms *terms, struct error *err);

#endif
