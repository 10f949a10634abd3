/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes files of a workspace. If the workspace runs, the agent in its guest reads and
 * writes the files. If the workspace does not run, a reader (reader.h) does it on the workspace's
 * disk. Outputs are never read by the guest itself: if the workspace runs, its disk is copied while
 * the file system is frozen, and a reader reads the copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/place.h"
#include "api/reader.h"
#include "api/transfer.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/kind.h"
#include "contract/request.h"
#include "store/disk_file.h"

#define COPY_NAME "disk.ext4"
#define USER_ROOT "0"

/* The workspace to which a command about files applies. */
struct subject {
	struct open_workspace existing;
	json_t *config; /* the recorded config of the workspace */
	bool running;
};

static void subject_close(struct subject *s) /* accepts a zeroed subject */
{
	open_workspace_close(&s->existing);
	json_decref(s->config);
}
#define auto_subject __attribute__((cleanup(subject_close)))

static void subject_move(struct subject *from, struct subject *to)
{
	*to = *from;
	/* The workspace has a pointer to its state directory, which is now at another address. */
	to->existing.ws.dir = &to->existing.dir;
	*from = (struct subject){0};
}

static int subject_open(struct microagent *agent, const char *name, struct subject *out,
			struct error *err)
{
	auto_subject struct subject s = {0};
	struct workspace *ws = &s.existing.ws;
	enum state state;
	bool alive;

	if (open_workspace_named(agent, name, &s.existing, err) < 0)
		return -1;
	s.config = open_workspace_config(&s.existing, err);
	if (!s.config)
		return -1;
	/* macOS guests have no helper for files, and a reader cannot read their disks. */
	if (json_object_get(s.config, "macos"))
		return error_set(
			err, ERR_UNSUPPORTED,
			"microagent cannot copy files to or from a macOS guest: use the stdin and stdout of a command, or a shared directory");
	alive = lease_is_held(ws);
	if (open_workspace_refuse_quarantined(&s.existing, err) < 0 ||
	    workspace_state(ws, &state, NULL, err) < 0)
		return -1;
	s.running = state == STATE_RUNNING && alive;
	/* If a workspace does not run, but its lease is held, another reader holds the lease.
	 * reader_hold() waits until that reader has ended. */
	if (alive && !s.running && state != STATE_PREPARED && state != STATE_HALTED &&
	    state != STATE_STOPPED && state != STATE_FAILED)
		return kind_say(KIND_BUSY, ws->id, state_names[state], ERR_CONFLICT, err);
	subject_move(&s, out);
	return 0;
}

/* --- the disk, or a copy of the disk -------------------------------------------------------- */

struct copying {
	const struct place *from;
	const struct reader *reader;
};

static int copy_frozen_disk(void *data, struct error *err)
{
	const struct copying *c = data;
	autoclose int from = disk_file_open(c->from->disk, O_RDONLY, c->from->direct, err);

	if (from < 0)
		return -1;
	return path_clone_file_at(from, c->reader->ws.fd, COPY_NAME, 0600, NULL, err);
}

/* Boots a reader on the disk of `place`. */
static int open_disk(const struct subject *s, const struct place *place, enum reader_use use,
		     struct reader *reader, struct error *err)
{
	autofree char *disk = NULL;

	if (reader_begin(reader->agent, &s->existing, reader, err) < 0)
		return -1;
	/* A running guest writes to its disk. The disk is copied while the file system is frozen,
	 * so that the copy is consistent. */
	if (s->running && place->changes) {
		const struct transfer agent = {.ws = &s->existing.ws, .user = USER_ROOT};
		struct copying copying = {place, reader};

		if (transfer_frozen(&agent, place->mountpoint, copy_frozen_disk, &copying, err) < 0)
			return -1;
		disk = workspace_path(&reader->ws, COPY_NAME, err);
		if (!disk)
			return -1;
	} else if (!s->running && reader_hold(reader, &s->existing, err) < 0) {
		return -1;
	}
	const struct reader_disk what = {disk ? disk : place->disk, place->base,
					 !disk && place->direct};

	return reader_boot(reader, s->config, &what, use, err);
}

/* A request about a path. run() gets the path in two forms: reading->path is the path in the guest
 * of the workspace, and `within` is the path of the same file below the root of the transfer. */
struct reading {
	int (*run)(const struct reading *reading, const struct transfer *transfer,
		   const char *within, struct error *err);
	const char *path;
	const char *user;
	const struct microagent_copy *options;
	const struct tree_target *target; /* the target of a copy; NULL for a listing */
	const char *verb;		  /* the helper's verb for a listing; NULL for a copy */
	json_t *entries;
	/* for files_with_root(): the caller's function, and its first argument */
	files_root_fn *with_root;
	void *data;
};

static int read_tree(const struct reading *r, const struct transfer *transfer, const char *within,
		     struct error *err)
{
	return transfer_out(transfer, within, r->path, r->target, err);
}

/* Reads from the disk with a reader. No program of the workspace is run. */
static int read_disk(struct microagent *agent, const struct subject *s,
		     const struct reading *reading, struct error *err)
{
	struct reader reader = READER_NONE;
	struct place place = {0};
	int status = place_find(&s->existing.ws, s->config, reading->path, &place, err);

	reader.agent = agent;
	if (status == 0)
		status = open_disk(s, &place, READER_READ, &reader, err);
	if (status == 0) {
		const struct transfer transfer = {&reader.ws, reading->user, READER_ROOT,
						  reading->options};

		status = reading->run(reading, &transfer, place.within, err);
	}
	reader_end(&reader);
	place_free(&place);
	return status;
}

/* Lets the agent read if the workspace runs. Otherwise lets a reader read from the disk. */
static int read_subject(struct microagent *agent, const struct subject *s,
			const struct reading *reading, struct error *err)
{
	const struct transfer transfer = {&s->existing.ws, reading->user, "/", reading->options};

	return s->running ? reading->run(reading, &transfer, reading->path, err)
			  : read_disk(agent, s, reading, err);
}

static int run_with_root(const struct reading *r, const struct transfer *transfer,
			 const char *within, struct error *err)
{
	(void)within;
	return r->with_root(r->data, transfer, err);
}

int files_with_root(struct microagent *agent, const char *name,
		    const struct microagent_copy *options, files_root_fn *fn, void *data,
		    struct error *err)
{
	static const struct microagent_copy none = {0};
	auto_subject struct subject s = {0};
	const struct reading reading = {.run = run_with_root,
					.path = "/",
					.user = USER_ROOT,
					.options = options ? options : &none,
					.with_root = fn,
					.data = data};

	return subject_open(agent, name, &s, err) < 0 ? -1 : read_subject(agent, &s, &reading, err);
}

/* --- copying --------------------------------------------------------------------------------- */

static int check_path(const char *path, struct error *err)
{
	return path[0] == '/'
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "%.300s is not an absolute path: a path in a workspace begins with /",
				 path);
}

/* Checks that a copy from a guest has exactly one target: a path of the host, or an open file. */
static int check_target(const char *host_path, const struct microagent_copy *options,
			struct error *err)
{
	if (!host_path == (options->file > 0))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"a copy needs either a path of the host or an open file as its target, but %s given: give exactly one",
		host_path ? "both were" : "neither was");
}

/* Returns the last component of a clean path, or "root" for "/". */
static const char *base_name(char *clean)
{
	char *slash = strrchr(clean, '/');
	const char *name = slash ? slash + 1 : clean;

	return *name ? name : "root";
}

/* Opens the target of a copy from a guest. `path` is the clean path of the copied file in the
 * guest. */
static int open_target(char *path, const char *host_path, const struct microagent_copy *options,
		       struct tree_target *out, struct error *err)
{
	int within = options->within;

	if (host_path) {
		if (tree_target_open(within > 0 ? within : AT_FDCWD, host_path, within > 0,
				     base_name(path), out, err) < 0)
			return -1;
		out->host_path =
			out->in_path ? path_join(host_path, out->name, err) : strdup(host_path);
		if (out->host_path)
			return 0;
		tree_target_close(out);
		return error_errno(err, ENOMEM, "files");
	}
	*out = (struct tree_target){.dir = -1, .file = options->file};
	snprintf(out->name, sizeof(out->name), "%.255s", path); /* the name in messages */
	return 0;
}

int microagent_copy_out(struct microagent *agent, const char *name, const char *path,
			const char *host_path, const struct microagent_copy *options,
			struct error *err)
{
	static const struct microagent_copy none = {0};
	const struct microagent_copy *given = options ? options : &none;
	struct tree_target target = {.dir = -1};
	autofree char *clean = NULL;
	auto_subject struct subject s = {0};
	int status;

	if (check_path(path, err) < 0 || check_target(host_path, given, err) < 0 ||
	    subject_open(agent, name, &s, err) < 0)
		return -1;
	clean = path_absolute(path, err);
	if (!clean || open_target(clean, host_path, given, &target, err) < 0)
		return -1;
	const struct reading reading = {.run = read_tree,
					.path = clean,
					.user = given->user,
					.options = given,
					.target = &target};

	status = read_subject(agent, &s, &reading, err);
	tree_target_close(&target);
	return status;
}

static int write_within(struct reader *reader, const struct subject *s, const struct place *place,
			const char *host_path, const char *name,
			const struct microagent_copy *options, bool *touched, struct error *err)
{
	const struct transfer transfer = {&reader->ws, options->user, READER_ROOT, options};

	if (!place->changes)
		return error_set(
			err, ERR_DENIED,
			"%s is read-only in the workspace: copy to a directory that can be written",
			place->mountpoint);
	if (open_disk(s, place, READER_WRITE, reader, err) < 0)
		return -1;
	*touched = true;
	return transfer_in(&transfer, host_path, place->within, name, err);
}

/* Writes to the disk of a workspace that does not run. Before the first start, the disk must have
 * the digest that the command prepare recorded. So a workspace that was never started is prepared
 * again after the copy, even if the copy failed half-way. */
static int write_disk(struct microagent *agent, const struct subject *s, const char *host_path,
		      const char *path, const char *name, const struct microagent_copy *options,
		      struct error *err)
{
	struct reader reader = READER_NONE;
	bool enforced = !workspace_was_started(&s->existing.ws);
	struct place place = {0};
	int status;
	bool touched = false;

	if ((enforced && archives_check(s->config, err) < 0) ||
	    place_find(&s->existing.ws, s->config, path, &place, err) < 0)
		return -1;
	reader.agent = agent;
	status = write_within(&reader, s, &place, host_path, name, options, &touched, err);
	reader_end(&reader);
	place_free(&place);
	if (touched && enforced &&
	    microagent_prepare(agent, s->existing.ws.id, NULL, status < 0 ? NULL : err) < 0)
		return -1;
	return status;
}

/* Returns the path of the host that the copy opens, as a new string. If `within` is a descriptor of
 * the directory that counts as the path's root, the path is cleaned like an absolute path, and then
 * made relative again, because messages show the relative path. */
static char *host_source(const char *host_path, int within, struct error *err)
{
	autofree char *rooted = within > 0 ? path_join("/", host_path, err) : NULL;
	autofree char *clean = rooted ? path_clean(rooted, err) : NULL;

	if (within <= 0)
		return path_absolute(host_path, err);
	if (!clean)
		return NULL;
	char *below = strdup(clean[1] ? clean + 1 : clean);
	if (!below)
		error_errno(err, ENOMEM, "%s", host_path);
	return below;
}

int microagent_copy_in(struct microagent *agent, const char *name, const char *host_path,
		       const char *path, const struct microagent_copy *options, struct error *err)
{
	static const struct microagent_copy none = {0};
	const struct microagent_copy *given = options ? options : &none;
	autofree char *clean = host_source(host_path, given->within, err);
	auto_subject struct subject s = {0};

	if (check_path(path, err) < 0)
		return -1;
	/* Checks the file before a machine is booted, because booting takes time, and the file may
	 * be unreadable. */
	if (clean && given->within <= 0 && access(clean, R_OK) < 0)
		return error_errno(err, errno, "%s", host_path);
	if (!clean || subject_open(agent, name, &s, err) < 0)
		return -1;
	const struct transfer running = {&s.existing.ws, given->user, "/", given};

	return s.running ? transfer_in(&running, clean, path, base_name(clean), err)
			 : write_disk(agent, &s, clean, path, base_name(clean), given, err);
}

/* --- listings -------------------------------------------------------------------------------- */

static int read_listing(const struct reading *r, const struct transfer *transfer,
			const char *within, struct error *err)
{
	return transfer_listing(transfer, r->verb, within, r->entries, err);
}

/* Asks the guest or a reader for a listing. Returns the entries in the order in which they
 * arrive. */
static json_t *ask_listing(struct microagent *agent, const char *name, const char *path,
			   const char *user, const char *verb, struct error *err)
{
	autofree char *clean = NULL;
	json_auto_t *entries = json_array();
	auto_subject struct subject s = {0};

	if (check_path(path, err) < 0 || subject_open(agent, name, &s, err) < 0)
		return NULL;
	clean = path_absolute(path, err);
	if (!clean)
		return NULL;
	const struct reading reading = {
		.run = read_listing, .path = clean, .user = user, .verb = verb, .entries = entries};

	return read_subject(agent, &s, &reading, err) < 0 ? NULL : steal_ptr(&entries);
}

static int by_name(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return strcmp(json_text(*x, "name", NULL), json_text(*y, "name", NULL));
}

json_t *listing_sorted(const json_t *entries, struct error *err)
{
	size_t count = json_array_size(entries);
	autofree json_t **items = calloc(count + 1, sizeof(json_t *));
	json_auto_t *list = json_array();

	if (!items) {
		error_errno(err, ENOMEM, "listing");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = json_array_get(entries, i);
	qsort(items, count, sizeof(json_t *), by_name); /* NOLINT(bugprone-sizeof-expression) */
	for (size_t i = 0; i < count; i++) {
		if (json_array_append(list, items[i]) < 0) {
			error_errno(err, ENOMEM, "listing");
			return NULL;
		}
	}
	return steal_ptr(&list);
}

json_t *listing_only(const json_t *entries, struct error *err)
{
	if (json_array_size(entries) != 1) {
		error_set(
			err, ERR_IO,
			"the guest's list of files is malformed, because it does not have exactly one file: this is a bug, or the guest attacks its host");
		return NULL;
	}
	return json_incref(json_array_get(entries, 0));
}

json_t *microagent_list_files(struct microagent *agent, const char *name, const char *path,
			      const char *user, struct error *err)
{
	json_auto_t *entries = ask_listing(agent, name, path, user, "list", err);
	json_auto_t *answer = json_object();
	json_t *list = entries ? listing_sorted(entries, err) : NULL;

	if (!list || json_put(answer, "path", json_string_lossy(path, strlen(path)), err) < 0) {
		json_decref(list);
		return NULL;
	}
	if (json_put(answer, "entries", list, err) < 0)
		return NULL;
	return steal_ptr(&answer);
}

json_t *microagent_stat_file(struct microagent *agent, const char *name, const char *path,
			     const char *user, struct error *err)
{
	json_auto_t *entries = ask_listing(agent, name, path, user, "stat", err);

	return entries ? listing_only(entries, err) : NULL;
}

/* --- artifacts ------------------------------------------------------------------------------- */

static int put_declared(json_t *answer, const char *key, const json_t *declared, const char *kind,
			bool read_only, struct error *err)
{
	json_t *list = json_array(), *item;
	size_t i;

	if (json_put(answer, key, list, err) < 0)
		return -1;
	json_array_foreach(declared, i, item)
	{
		json_t *copy = json_deep_copy(item);

		bool review = bundle_kind(item) == BUNDLE_REVIEW;

		/* An entry for a review has its kind already, and no mode. */
		if (json_array_append_new(list, copy) < 0 ||
		    (read_only && !review && json_put_string(copy, "mode", "ro", err) < 0) ||
		    (!review && json_put_string(copy, "kind", kind, err) < 0))
			return error_errno(err, ENOMEM, "artifacts");
	}
	return 0;
}

int microagent_artifacts(struct microagent *agent, const char *name, json_t **artifacts,
			 struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *config = NULL, *answer = json_object();

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	config = open_workspace_config(&existing, err);
	open_workspace_close(&existing);
	if (!config ||
	    put_declared(answer, "ingress", json_object_get(config, "bundles"), "bundle", true,
			 err) < 0 ||
	    put_declared(answer, "egress", json_object_get(config, "outputs"), "output", false,
			 err) < 0)
		return -1;
	*artifacts = steal_ptr(&answer);
	return 0;
}

/* Returns the path in the guest of the declared output `artifact`. Returns NULL if no such output
 * is declared. */
static const char *output_path(const json_t *config, const char *artifact)
{
	const json_t *outputs = json_object_get(config, "outputs"), *item;
	size_t i;

	json_array_foreach(outputs, i, item)
	{
		const char *name = json_text(item, "name", NULL);

		if (name && strcmp(name, artifact) == 0)
			return json_text(item, "path", NULL);
	}
	return NULL;
}

static int read_output(const struct reading *r, const struct transfer *transfer, const char *within,
		       struct error *err)
{
	if (transfer_output(transfer, within, r->path, r->target, err) == 0)
		return 0;
	/* The error names the path on the disk. If this differs from the declared path, which the
	 * user knows, the declared path is put before it. */
	return strcmp(within, r->path) == 0 ? -1 : error_prefix(err, "%s, on its disk", r->path);
}

int microagent_artifact_get(struct microagent *agent, const char *name, const char *artifact,
			    const char *host_path, const struct microagent_copy *options,
			    struct error *err)
{
	static const struct microagent_copy none = {0};
	const struct microagent_copy *given = options ? options : &none;
	struct tree_target target = {.dir = -1};
	autofree char *clean = NULL;
	auto_subject struct subject s = {0};
	const char *path;
	int status;

	if (check_target(host_path, given, err) < 0 || subject_open(agent, name, &s, err) < 0)
		return -1;
	path = output_path(s.config, artifact);
	if (!path)
		return kind_say(KIND_NO_OUTPUT, s.existing.ws.id, artifact, ERR_NOT_FOUND, err);
	clean = path_absolute(path, err);
	if (!clean || open_target(clean, host_path, given, &target, err) < 0)
		return -1;
	const struct reading reading = {.run = read_output,
					.path = clean,
					.user = USER_ROOT,
					.options = given,
					.target = &target};

	status = read_disk(agent, &s, &reading, err);
	tree_target_close(&target);
	return status;
}
