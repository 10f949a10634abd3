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
#include "store/share_dir.h"
#include "store/store.h"

/* Returns a pass to ws for the wish, to be served so, which holds until it is ended; its errors are
 * those of share_dir_open(), and ERR_CONFLICT where another command has one at this time. */
int share_pass_give(const struct workspace *ws, const struct share_wish *wish,
		    const struct share_caching *caching, struct error *err);
void share_pass_end(int *pass); /* accepts -1 */
#define autopass __attribute__((cleanup(share_pass_end)))

/* Opens the directory (O_PATH) of the pass that the workspace of this path has, by the rules, of
 * which base has what the pass does not say. ERR_DENIED: there is none, or it is to be read and the
 * base is to write; ERR_CONFLICT: another directory is there by now. */
int share_pass_redeem(const char *workspace, const struct share_wish *base,
		      struct share_caching *caching, struct error *err);

#endif
