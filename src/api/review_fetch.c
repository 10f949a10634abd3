/* SPDX-License-Identifier: MIT */
/*
 * Fetches the layer to which a guest has written, for each directory that is shared with it for a
 * review. The copy on the host is a directory of the workspace: bundle-<name>.taken, with the
 * directory `tree` and the file `claims`. It is made under another name, so a fetch that fails
 * leaves the earlier copy as it was.
 */
#include "api/review_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/transfer.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/request.h"
#include "store/review/claims.h"
#include "store/review_files.h"

struct fetch {
	const struct workspace *ws;
	const json_t *bundles;
};

/* Stores what the guest says about one file. */
static int note_claim(void *data, const struct tree_told *told, struct error *err)
{
	return review_claims_add(data, told->type, told->mode, told->mtime_ns, told->path,
				 told->text, err);
}

/* Fetches one layer into the directory that is open as `dir`. */
static int fetch_layer(const struct transfer *transfer, const char *upper, int dir,
		       struct error *err)
{
	struct tree_target target = {.dir = dir, .file = -1, .name = REVIEW_TREE};
	autobuf struct buf claims = BUF_INIT(limit_get(LIMIT_REVIEW_CLAIMS_BYTES));
	struct error why = {0};

	if (transfer_changes(transfer, upper, &target, note_claim, &claims, &why) < 0) {
		/* The guest has not mounted the directory yet, so it has changed nothing. */
		if (why.code != ERR_NOT_FOUND)
			return error_copy(err, &why);
		if (mkdirat(dir, REVIEW_TREE, 0700) < 0)
			return error_errno(err, errno, "%s", REVIEW_TREE);
	}
	return path_replace_file_at(dir, REVIEW_CLAIMS, buf_bytes(&claims), claims.len, 0600,
				    PATH_NO_SYNC, err);
}

static int fetch_one(const struct transfer *transfer, const struct workspace *ws, const char *name,
		     struct error *err)
{
	char taking[BUNDLE_FILE_NAME], taken[BUNDLE_FILE_NAME], upper[UPPER_TEXT];
	autoclose int dir = -1;

	review_file_name(name, REVIEW_TAKING, taking);
	review_file_name(name, REVIEW_TAKEN, taken);
	if (review_read_upper(ws->fd, name, upper, err) < 0 ||
	    path_remove_tree_at(ws->fd, taking, err) < 0)
		return -1;
	dir = path_open_dir_at(ws->fd, taking, true, 0700, err);
	if (dir < 0)
		return -1;
	if (fetch_layer(transfer, upper, dir, err) < 0) {
		(void)path_remove_tree_at(ws->fd, taking, NULL);
		return -1;
	}
	if (path_remove_tree_at(ws->fd, taken, err) < 0)
		return -1;
	return renameat(ws->fd, taking, ws->fd, taken) < 0 ? error_errno(err, errno, "%s", taken)
							   : 0;
}

static int fetch_all(void *data, const struct transfer *transfer, struct error *err)
{
	const struct fetch *fetch = data;
	const json_t *bundle;
	size_t i;

	json_array_foreach(fetch->bundles, i, bundle)
	{
		if (bundle_kind(bundle) == BUNDLE_REVIEW &&
		    fetch_one(transfer, fetch->ws, json_text(bundle, "name", ""), err) < 0)
			return error_prefix(err, "the changes in %s",
					    json_text(bundle, "mountpoint", ""));
	}
	return 0;
}

int review_fetch(struct microagent *agent, const struct workspace *ws, const json_t *bundles,
		 const struct microagent_copy *options, struct error *err)
{
	static const struct microagent_copy none = {0};
	struct microagent_copy bounded = options ? *options : none;
	struct fetch fetch = {ws, bundles};

	/* A guest can make files of terabytes that are only a hole. */
	if (bounded.limit_bytes == 0)
		bounded.limit_bytes = limit_get(LIMIT_CHANGES_BYTES);
	return files_with_root(agent, ws->id, &bounded, fetch_all, &fetch, err);
}
