/* SPDX-License-Identifier: MIT */
/*
 * How a directory is given to a machine that runs. Its live supervisor reads what the guest says
 * and may have been taken over: that it asks is no reason to start anything. The directory itself
 * would prove that somebody outside wants it, but `..` leads from there to the whole host. So the
 * command writes a pass, a file beside the workspace's lock, where neither that supervisor nor its
 * VMM nor the guest's shares reach, and asks; the broker goes by the file.
 */
#ifndef STORE_SHARE_PASS_H
#define STORE_SHARE_PASS_H

#include "base/error.h"
#include "contract/request.h"
#include "store/share/rules.h"
#include "store/store.h"

/* A directory of a pass, and how it is to be served. */
struct share_pass_row {
	struct share_wish wish;
	struct share_terms terms;
};
/* Returns a pass to ws for so many directories, which holds until it is ended; its errors are those
 * of share_dir_open(), and ERR_CONFLICT where another command has one at this time. */
int share_pass_give(const struct workspace *ws, const struct share_pass_row *rows, size_t count,
		    struct error *err);
void share_pass_end(int *pass); /* accepts -1 */
#define autopass __attribute__((cleanup(share_pass_end)))

/* Opens the directory (O_PATH) that has this number, from 0 on, in the pass of the workspace of this
 * path, by the rules, of which base has what the pass does not say. ERR_DENIED: there is none, or
 * it is to be read and the base is to write; ERR_CONFLICT: another directory is there by now. */
int share_pass_redeem(const char *workspace, size_t number, const struct share_wish *base,
		      struct share_terms *terms, struct error *err);

#endif
