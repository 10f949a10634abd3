/* SPDX-License-Identifier: MIT */
/*
 * Lists what a guest has changed in the directories that are shared with it for a review, and brings
 * changes to the host. A list always belongs to a copy of the guest's layer, which microagent_changes()
 * fetches. The other functions use this copy and not the guest. So what is applied is what was
 * listed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/review_fetch.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "channel/hasher.h"
#include "contract/request.h"
#include "store/review/apply.h"
#include "store/review/compare.h"
#include "store/review/diff.h"
#include "store/review/select.h"
#include "store/review_files.h"
#include "store/share/rules.h"

#define SCRATCH "scratch"

/* A reviewed directory, with the copy of the guest's layer that was last fetched. */
struct reviewed {
	const struct workspace *ws;
	const json_t *bundle; /* its entry of config.bundles */
	int host;	      /* a descriptor of the directory; -1: it cannot be opened */
	struct error host_error;
	int taken, tree;
	struct review_list list;
	struct review_claims claims;
	struct review_changes changes;
};

static void reviewed_close(struct reviewed *r)
{
	review_changes_free(&r->changes);
	review_claims_free(&r->claims);
	review_list_free(&r->list);
	cleanup_close(&r->tree);
	cleanup_close(&r->taken);
	cleanup_close(&r->host);
}
#define auto_reviewed __attribute__((cleanup(reviewed_close)))
#define REVIEWED_NONE                               \
	{                                           \
		.host = -1, .taken = -1, .tree = -1 \
	}

static int open_file_of(const struct workspace *ws, const json_t *bundle, const char *suffix,
			int flags, struct error *err)
{
	char name[BUNDLE_FILE_NAME];
	int fd;

	review_file_name(json_text(bundle, "name", ""), suffix, name);
	fd = openat(ws->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
	return fd < 0 ? error_errno(err, errno, "%s", name) : fd;
}

static int open_host(const json_t *config, const json_t *bundle, struct error *err)
{
	const struct share_wish wish = {
		.path = json_text(bundle, "path", ""),
		.state_dir = json_text(config, "stateDir", NULL),
		.read_only = true,
		.anyway = json_is_true(json_object_get(bundle, "anyway")),
		.direct = true,
	};

	return share_open_to_copy(&wish, err);
}

/* Opens a reviewed directory and compares it with the copy. ERR_NOT_FOUND: nothing was fetched
 * yet. */
static int reviewed_open(const struct workspace *ws, const json_t *config, const json_t *bundle,
			 struct reviewed *r, struct error *err)
{
	autoclose int list = open_file_of(ws, bundle, REVIEW_LIST, 0, err);
	autoclose int claims = -1;
	struct error why = {0};

	if (list < 0 || review_list_read(list, &r->list, err) < 0)
		return -1;
	r->ws = ws;
	r->bundle = bundle;
	r->taken = open_file_of(ws, bundle, REVIEW_TAKEN, O_DIRECTORY, &why);
	if (r->taken < 0 && why.errnum == ENOENT) {
		error_set(
			err, ERR_NOT_FOUND,
			"the changes of \"%s\" were not listed yet: list them, and look at them, before they are applied",
			ws->id);
		return error_reason(err, REASON_CHANGES_NOT_LISTED, ws->id);
	}
	if (r->taken < 0)
		return error_copy(err, &why);
	r->tree = openat(r->taken, REVIEW_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	claims = openat(r->taken, REVIEW_CLAIMS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (r->tree < 0 || claims < 0)
		return error_errno(err, errno, "the copy of the changes");
	if (review_claims_read(claims, &r->claims, err) < 0)
		return -1;
	r->host = open_host(config, bundle, &r->host_error);
	const struct review_inputs inputs = {.list = &r->list,
					     .claims = &r->claims,
					     .tree = r->tree,
					     .host = r->host,
					     .umask = process_umask()};

	return review_compare(&inputs, &r->changes, err);
}

/* --- paths ----------------------------------------------------------------------------------- */

static size_t count_reviews(const json_t *bundles)
{
	const json_t *bundle;
	size_t i, count = 0;

	json_array_foreach(bundles, i, bundle) count += bundle_kind(bundle) == BUNDLE_REVIEW;
	return count;
}

static bool is_below_mountpoint(const json_t *bundle, const char *path)
{
	const char *mountpoint = json_text(bundle, "mountpoint", "");
	size_t len = strlen(mountpoint);

	return strncmp(path, mountpoint, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Returns true for a relative path, and for an absolute path below any reviewed directory. */
static bool is_in_a_review(const json_t *bundles, const char *path)
{
	const json_t *bundle;
	size_t i;

	if (*path != '/')
		return true;
	json_array_foreach(bundles, i, bundle)
	{
		if (bundle_kind(bundle) == BUNDLE_REVIEW && is_below_mountpoint(bundle, path))
			return true;
	}
	return false;
}

/* Chooses the paths that belong to one reviewed directory, and makes them relative to it. An
 * absolute path is one of the guest. Stores the paths in `out`, which has room for all of them; they
 * point into `paths`. */
static int choose_paths(const json_t *bundle, const char *const *paths, bool only_one,
			const char **out, size_t *count, struct error *err)
{
	const char *mountpoint = json_text(bundle, "mountpoint", "");
	size_t len = strlen(mountpoint);

	*count = 0;
	for (size_t i = 0; paths && paths[i]; i++) {
		const char *path = paths[i];

		if (*path != '/') {
			if (!only_one)
				return error_set(
					err, ERR_INVALID,
					"%.300s could be in each of the machine's reviewed directories: write its path in the guest, like %.200s/%.300s",
					path, mountpoint, path);
			out[(*count)++] = path;
		} else if (is_below_mountpoint(bundle, path)) {
			out[(*count)++] = path[len] && path[len + 1] ? path + len + 1 : ".";
		}
	}
	return 0;
}

/* --- each reviewed directory ----------------------------------------------------------------- */

struct work {
	const char *const *paths;
	const char *digest;
	bool colour;
	int out;
	json_t *rows;
};

typedef int work_fn(struct work *work, struct reviewed *r, const char *const *paths, size_t count,
		    struct error *err);

static int find_bundles(const struct open_workspace *existing, json_t **config, json_t **bundles,
			struct error *err)
{
	json_auto_t *found = open_workspace_config(existing, err);

	if (!found)
		return -1;
	if (count_reviews(json_object_get(found, "bundles")) == 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"\"%s\" has no directory that is shared for a review (DIR:/PLACE:review)",
			existing->ws.id);
	*bundles = json_object_get(found, "bundles");
	*config = steal_ptr(&found);
	return 0;
}

static int each_reviewed(const struct open_workspace *existing, const json_t *config,
			 const json_t *bundles, work_fn *fn, struct work *work, struct error *err)
{
	bool only_one = count_reviews(bundles) == 1;
	json_auto_t *recorded = reviews_describe(&existing->ws, err);
	const json_t *bundle;
	size_t i, given = 0;

	/* A live supervisor that was taken over can write to the files of its workspace. With another
	 * list, a file that was changed on the host could count as unchanged. */
	if (!recorded || reviews_require(recorded, existing->ws.fd, err) < 0)
		return -1;
	while (work->paths && work->paths[given])
		given++;
	autofree const char **chosen = calloc(given + 1, sizeof(*chosen));
	if (!chosen)
		return error_errno(err, ENOMEM, "changes");
	for (size_t k = 0; k < given; k++)
		if (!is_in_a_review(bundles, work->paths[k]))
			return error_set(
				err, ERR_NOT_FOUND,
				"%.300s is in no directory that is shared with \"%s\" for a review",
				work->paths[k], existing->ws.id);
	json_array_foreach(bundles, i, bundle)
	{
		auto_reviewed struct reviewed r = REVIEWED_NONE;
		size_t count;

		if (bundle_kind(bundle) != BUNDLE_REVIEW)
			continue;
		if (choose_paths(bundle, work->paths, only_one, chosen, &count, err) < 0)
			return -1;
		if (given > 0 && count == 0)
			continue;
		if (reviewed_open(&existing->ws, config, bundle, &r, err) < 0 ||
		    fn(work, &r, chosen, count, err) < 0)
			return -1;
	}
	return 0;
}

static int add_row(struct work *work, const struct reviewed *r, json_t *row, struct error *err)
{
	const char *path = json_text(r->bundle, "path", "");

	if (json_put(row, "path", json_string_lossy(path, strlen(path)), err) < 0 ||
	    json_put_string(row, "mountpoint", json_text(r->bundle, "mountpoint", ""), err) < 0)
		return -1;
	return json_array_append(work->rows, row) < 0 ? error_errno(err, ENOMEM, "changes") : 0;
}

/* --- listing --------------------------------------------------------------------------------- */

static int list_changes(struct work *work, struct reviewed *r, const char *const *paths,
			size_t count, struct error *err)
{
	auto_review_selection struct review_selection selection = {0};
	json_auto_t *row = review_changes_json(&r->changes, err);
	json_auto_t *named = json_array();

	if (!row || review_selection_read(paths, count, &selection, err) < 0)
		return -1;
	for (size_t i = 0; i < r->changes.count; i++)
		if (review_selection_find(&selection, &r->changes.changes[i]) != REVIEW_NOT_NAMED &&
		    json_array_append(named, json_array_get(json_object_get(row, "changes"), i)) <
			    0)
			return error_errno(err, ENOMEM, "changes");
	if (review_selection_check(&selection, err) < 0 ||
	    json_put(row, "changes", json_incref(named), err) < 0 ||
	    (r->host < 0 &&
	     json_put(row, "error", json_string_lossy(r->host_error.msg, strlen(r->host_error.msg)),
		      err) < 0))
		return -1;
	return add_row(work, r, row, err);
}

int microagent_changes(struct microagent *agent, const char *name,
		       const struct microagent_copy *options, const char *const *paths,
		       json_t **changes, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *rows = json_array();
	json_auto_t *config = NULL;
	struct work work = {.paths = paths, .rows = rows};
	json_t *bundles, *answer;

	if (!rows)
		return error_errno(err, ENOMEM, "changes");
	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    find_bundles(&existing, &config, &bundles, err) < 0 ||
	    review_fetch(agent, &existing.ws, bundles, options, err) < 0 ||
	    each_reviewed(&existing, config, bundles, list_changes, &work, err) < 0)
		return -1;
	answer = json_pack("{s:O}", "reviews", rows);
	if (!answer)
		return error_errno(err, ENOMEM, "changes");
	*changes = answer;
	return 0;
}

/* --- the image ------------------------------------------------------------------------------- */

/* Opens the image, with an empty scratch directory in the copy of the guest's layer. `program` gets
 * the path of microagent-artifact, which the caller frees. */
static int open_image(const struct reviewed *r, char **program, struct review_image *out,
		      struct error *err)
{
	struct review_image image = {.fd = -1, .scratch = -1};

	*program = hasher_program(err);
	if (!*program || path_remove_tree_at(r->taken, SCRATCH, err) < 0)
		return -1;
	image.program = *program;
	image.fd = open_file_of(r->ws, r->bundle, REVIEW_DISK, 0, err);
	if (image.fd < 0)
		return -1;
	image.scratch = path_open_dir_at(r->taken, SCRATCH, true, 0700, err);
	if (image.scratch < 0) {
		close(image.fd);
		return -1;
	}
	*out = image;
	return 0;
}

static void close_image(const struct reviewed *r, struct review_image *image)
{
	(void)path_remove_tree_at(r->taken, SCRATCH, NULL);
	cleanup_close(&image->scratch);
	cleanup_close(&image->fd);
}

/* --- a patch --------------------------------------------------------------------------------- */

static int write_diff(struct work *work, struct reviewed *r, const char *const *paths, size_t count,
		      struct error *err)
{
	struct review_image image = {.fd = -1, .scratch = -1};
	autofree char *program = NULL, *taken = NULL, *scratch = NULL;
	char name[BUNDLE_FILE_NAME];
	int status;

	review_file_name(json_text(r->bundle, "name", ""), REVIEW_TAKEN, name);
	taken = workspace_path(r->ws, name, err);
	scratch = taken ? path_join(taken, SCRATCH, err) : NULL;
	if (!scratch || open_image(r, &program, &image, err) < 0)
		return -1;
	const struct review_diff diff = {.changes = &r->changes,
					 .tree = r->tree,
					 .paths = paths,
					 .path_count = count,
					 .image = image,
					 .scratch_path = scratch,
					 .out = work->out,
					 .colour = work->colour};

	status = review_diff(&diff, err);
	close_image(r, &image);
	return status;
}

int microagent_changes_diff(struct microagent *agent, const char *name, const char *const *paths,
			    bool colour, int fd, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *config = NULL;
	struct work work = {.paths = paths, .colour = colour, .out = fd};
	json_t *bundles;

	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    find_bundles(&existing, &config, &bundles, err) < 0)
		return -1;
	return each_reviewed(&existing, config, bundles, write_diff, &work, err);
}

/* --- applying -------------------------------------------------------------------------------- */

static int apply_changes(struct work *work, struct reviewed *r, const char *const *paths,
			 size_t count, struct error *err)
{
	struct review_image image = {.fd = -1, .scratch = -1};
	autofree char *program = NULL;
	json_auto_t *row = NULL;

	if (r->host < 0)
		return error_copy(err, &r->host_error);
	if (work->digest && strcmp(work->digest, r->changes.digest) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"the changes of \"%s\" that were listed last have the digest %.12s and not %.12s: list them again and look at them",
			r->ws->id, r->changes.digest, work->digest);
	if (open_image(r, &program, &image, err) < 0)
		return -1;
	const struct review_apply apply = {.list = &r->list,
					   .changes = &r->changes,
					   .tree = r->tree,
					   .host = r->host,
					   .paths = paths,
					   .path_count = count,
					   .image = image};

	row = review_apply(&apply, err);
	close_image(r, &image);
	return row ? add_row(work, r, row, err) : -1;
}

int microagent_changes_apply(struct microagent *agent, const char *name, const char *digest,
			     const char *const *paths, json_t **result, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *rows = json_array();
	json_auto_t *config = NULL;
	struct work work = {.paths = paths, .digest = digest, .rows = rows};
	json_t *bundles, *answer;

	if (!rows)
		return error_errno(err, ENOMEM, "changes");
	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    find_bundles(&existing, &config, &bundles, err) < 0 ||
	    each_reviewed(&existing, config, bundles, apply_changes, &work, err) < 0)
		return -1;
	answer = json_pack("{s:O}", "reviews", rows);
	if (!answer)
		return error_errno(err, ENOMEM, "changes");
	*result = answer;
	return 0;
}

/* --- taking the files anew ------------------------------------------------------------------- */

static int require_nothing_new(struct work *work, struct reviewed *r, const char *const *paths,
			       size_t count, struct error *err)
{
	size_t missing = 0;

	(void)work;
	(void)paths;
	(void)count;
	for (size_t i = 0; i < r->changes.count; i++)
		missing += r->changes.changes[i].host != REVIEW_HOST_DONE;
	return missing == 0
		       ? 0
		       : error_set(
				 err, ERR_CONFLICT,
				 "\"%s\" has %zu changes in %.200s that this host does not have, and they would be lost: apply them, or forget them",
				 r->ws->id, missing, json_text(r->bundle, "mountpoint", ""));
}

int microagent_changes_refresh(struct microagent *agent, const char *name, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *config = NULL;
	struct work work = {0};
	json_t *bundles;

	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    find_bundles(&existing, &config, &bundles, err) < 0 ||
	    open_workspace_refuse_quarantined(&existing, err) < 0)
		return -1;
	if (lease_is_held(&existing.ws))
		return open_workspace_refuse_alive(&existing, err);
	if (review_fetch(agent, &existing.ws, bundles, NULL, err) < 0 ||
	    each_reviewed(&existing, config, bundles, require_nothing_new, &work, err) < 0)
		return -1;
	return workspace_prepare_taking(agent, name, err);
}

/* --- forgetting ------------------------------------------------------------------------------ */

int microagent_changes_drop(struct microagent *agent, const char *name, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	json_auto_t *config = NULL;
	const json_t *bundle;
	json_t *bundles;
	size_t i;

	if (open_workspace_named(agent, name, &existing, err) < 0 ||
	    find_bundles(&existing, &config, &bundles, err) < 0 ||
	    open_workspace_refuse_quarantined(&existing, err) < 0)
		return -1;
	/* A running guest has its layer mounted, and writes to it. */
	if (lease_is_held(&existing.ws))
		return open_workspace_refuse_alive(&existing, err);
	json_array_foreach(bundles, i, bundle)
	{
		char upper[UPPER_TEXT], taken[BUNDLE_FILE_NAME];
		const char *bundle_name = json_text(bundle, "name", "");

		if (bundle_kind(bundle) != BUNDLE_REVIEW)
			continue;
		/* The guest removes a layer that it does not mount any more. */
		review_file_name(bundle_name, REVIEW_TAKEN, taken);
		if (review_new_upper(upper, err) < 0 ||
		    review_write_upper(existing.ws.fd, bundle_name, upper, err) < 0 ||
		    path_remove_tree_at(existing.ws.fd, taken, err) < 0)
			return -1;
	}
	return 0;
}
