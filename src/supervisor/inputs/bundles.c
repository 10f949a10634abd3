/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/bundles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/proc.h"
#include "channel/hasher.h"
#include "store/own_links.h"
#include "store/review_files.h"
#include "store/share/rules.h"

#define CHILD_FILE_FD 3
#define CHILD_FROM_FD 4
#define CHILD_LIST_FD 5
#define ANSWER_BYTES 65536

void bundle_file_name(const json_t *bundle, char out[BUNDLE_FILE_NAME])
{
	review_file_name(json_text(bundle, "name", ""), REVIEW_DISK, out);
}

void bundles_close(struct bundle_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		cleanup_close(&list->items[i].fd);
		cleanup_close(&list->items[i].list);
	}
	free(list->items);
	*list = (struct bundle_list)BUNDLE_LIST_INIT;
}

static int open_archive(const json_t *bundle, struct error *err)
{
	const char *path = json_text(bundle, "path", NULL);
	autoclose int fd = json_is_true(json_object_get(bundle, "direct"))
				   ? own_links_file_direct(path, O_RDONLY, err)
				   : own_links_file(path, O_RDONLY, NULL, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a regular file: give an archive",
				 path);
	return steal_fd(&fd);
}

/* Opens a directory for a review, if it may be shared with a guest that only reads it. */
static int open_reviewed(const json_t *bundle, const struct config *config, struct error *err)
{
	const char *path = json_text(bundle, "path", NULL);
	const struct share_wish wish = {
		.path = path,
		.state_dir = config->state_dir,
		.read_only = true,
		.anyway = json_is_true(json_object_get(bundle, "anyway")),
		.direct = json_is_true(json_object_get(bundle, "direct")) ||
			  share_is_within(path, config->shares),
	};

	return share_open_to_copy(&wish, err);
}

/* Puts the field of the config in front of an error about an archive or a directory. Returns -1. */
static int name_source(const json_t *bundle, size_t index, struct error *err)
{
	return bundle_kind(bundle) == BUNDLE_REVIEW
		       ? error_prefix(err, "config.bundles (review)")
		       : error_prefix(err, "config.bundles[%zu].path", index);
}

static int open_source(const json_t *bundle, const struct config *config, struct error *err)
{
	return bundle_kind(bundle) == BUNDLE_REVIEW ? open_reviewed(bundle, config, err)
						    : open_archive(bundle, err);
}

/* --- building -------------------------------------------------------------------------------- */

/* Returns true if the workspace has all files of the reviewed directory, and the name of a layer in
 * one of them. `ws` may be NULL. */
static bool has_review(const struct workspace *ws, const json_t *json)
{
	const char *bundle = json_text(json, "name", "");
	char disk[BUNDLE_FILE_NAME], list[BUNDLE_FILE_NAME], upper[UPPER_TEXT];

	if (!ws || ws->fd < 0 || bundle_kind(json) != BUNDLE_REVIEW)
		return false;
	review_file_name(bundle, REVIEW_DISK, disk);
	review_file_name(bundle, REVIEW_LIST, list);
	return faccessat(ws->fd, disk, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(ws->fd, list, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       review_read_upper(ws->fd, bundle, upper, NULL) == 0;
}

int bundles_check(const struct config *config, const struct workspace *kept, struct error *err)
{
	json_t *bundle;
	size_t i;

	json_array_foreach(config->bundles, i, bundle)
	{
		if (has_review(kept, bundle))
			continue;
		autoclose int fd = open_source(bundle, config, err);

		if (fd < 0)
			return name_source(bundle, i, err);
	}
	return 0;
}

/* Sets `err` to the error that the builder has reported. Returns 0 if the builder succeeded. */
static int take_error(const struct buf *answer, int code, struct error *err)
{
	json_auto_t *document = json_load_strict(buf_bytes(answer), answer->len, NULL);

	if (code == 0)
		return 0;
	if (!json_text(document, "error", NULL) || !json_text(document, "errorCode", NULL))
		return error_set(
			err, ERR_IO,
			"its disk was not made, because microagent-artifact ended with code %d and did not say why: this is a bug of microagent, or the program was ended from outside",
			code);
	return json_get_error(document, NULL, err);
}

/* Runs a command of microagent-artifact, which makes a disk in `to` from the archive or directory
 * `from`. `path` is the name of the source in messages. `list` is -1, or a file for the list of a
 * directory's files. */
static int run_builder(const char *path, int from, int to, int list, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_BUNDLE_MS);
	autofree char *program = hasher_program(err);
	const char *const unpack[] = {
		program, "bundle-build", "--json", "--from", path, "--from-fd",
		"4",	 "--fd",	 "3",	   NULL};
	const char *const take[] = {program, "review-build", "--json", "--from-fd", "4", "--fd",
				    "3",     "--list-fd",    "5",      NULL};
	autoclose int said = fd_memfd("answer", "", 0, err);
	autobuf struct buf answer = BUF_INIT(ANSWER_BYTES);
	struct proc child = PROC_NONE;
	int code = 0, status;

	if (!program || said < 0)
		return -1;
	const struct proc_fd fds[] = {{said, STDOUT_FILENO},
				      {to, CHILD_FILE_FD},
				      {from, CHILD_FROM_FD},
				      {list, CHILD_LIST_FD}};
	const struct proc_spec spec = {.argv = list < 0 ? unpack : take,
				       .fds = fds,
				       .nfds = ARRAY_SIZE(fds) - (list < 0),
				       .die_with_parent = true};

	if (proc_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "microagent-artifact");
	status = proc_wait(&child, deadline, &code, err);
	proc_end(&child);
	if (status < 0)
		return -1;
	if (lseek(said, 0, SEEK_SET) < 0 || fd_read_to_end(said, &answer, err) < 0)
		return error_set(
			err, ERR_IO,
			"its disk was not made, because the answer of microagent-artifact cannot be read: try again");
	return take_error(&answer, code, err);
}

/* Takes a directory for a review. */
static int take_directory(const json_t *json, const struct config *config, struct bundle *bundle,
			  struct error *err)
{
	const char *path = json_text(json, "path", NULL);
	autoclose int from = open_reviewed(json, config, err);

	if (from < 0 || review_new_upper(bundle->upper, err) < 0)
		return -1;
	if (run_builder(path, from, bundle->fd, bundle->list, err) < 0)
		return error_prefix(err, "%s", path);
	return digest_of(bundle->list, DIGEST_FILE, bundle->archive, err) < 0
		       ? -1
		       : digest_of(bundle->fd, DIGEST_FILE, bundle->disk, err);
}

/* Unpacks a bundle. The file that was hashed is given to the builder, so the digest is that of the
 * unpacked archive. */
static int unpack_bundle(const json_t *json, struct bundle *bundle, struct error *err)
{
	const char *path = json_text(json, "path", NULL);
	autoclose int archive = open_archive(json, err);
	struct digest_key before, after;

	if (archive < 0 || digest_key(archive, DIGEST_FILE, &before, err) < 0)
		return -1;
	if (digest_of(archive, DIGEST_FILE, bundle->archive, err) < 0)
		return error_prefix(err, "%s", path);
	if (run_builder(path, archive, bundle->fd, -1, err) < 0 ||
	    digest_key(archive, DIGEST_FILE, &after, err) < 0)
		return -1;
	if (!digest_key_equal(&before, &after))
		return error_set(err, ERR_UNAVAILABLE,
				 "%s was changed while it was unpacked; try again", path);
	return digest_of(bundle->fd, DIGEST_FILE, bundle->disk, err);
}

/* Opens a file that prepare has made in the workspace's directory. The live supervisor of an earlier
 * machine may have put something else there, and a guest may have taken it over: for example a FIFO, at
 * which the computation of a digest would wait. */
static int open_made_file(const struct workspace *ws, const char *name, struct error *err)
{
	autoclose int fd = openat(ws->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_CONFLICT,
			"%s is not a regular file, so it is not what prepare made: make the machine anew",
			name);
	return steal_fd(&fd);
}

static int open_review_file(const struct workspace *ws, const json_t *json, const char *suffix,
			    char digest[DIGEST_TEXT], struct error *err)
{
	char name[BUNDLE_FILE_NAME];

	review_file_name(json_text(json, "name", ""), suffix, name);
	autoclose int fd = open_made_file(ws, name, err);
	if (fd < 0)
		return -1;
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0)
		return error_prefix(err, "%s", name);
	return steal_fd(&fd);
}

/* Opens the files of a reviewed directory that is kept. */
static int keep_review(const json_t *json, const struct workspace *ws, struct bundle *out,
		       struct error *err)
{
	struct bundle bundle = {.kept = true};
	autoclose int disk = open_review_file(ws, json, REVIEW_DISK, bundle.disk, err);
	autoclose int list =
		disk < 0 ? -1 : open_review_file(ws, json, REVIEW_LIST, bundle.archive, err);

	if (list < 0 ||
	    review_read_upper(ws->fd, json_text(json, "name", ""), bundle.upper, err) < 0)
		return -1;
	bundle.fd = steal_fd(&disk);
	bundle.list = steal_fd(&list);
	*out = bundle;
	return 0;
}

static int build_one(const json_t *json, const struct config *config, const struct state_dir *dir,
		     struct bundle *out, struct error *err)
{
	bool review = bundle_kind(json) == BUNDLE_REVIEW;
	struct bundle bundle = {.fd = file_open_nameless(dir->fd, O_RDWR),
				.list = review ? file_open_nameless(dir->fd, O_RDWR) : -1};
	int status;

	if (bundle.fd < 0 || (review && bundle.list < 0))
		status = error_errno(err, errno, "%s", dir->path);
	else
		status = review ? take_directory(json, config, &bundle, err)
				: unpack_bundle(json, &bundle, err);
	if (status < 0) {
		cleanup_close(&bundle.fd);
		cleanup_close(&bundle.list);
		return -1;
	}
	*out = bundle;
	return 0;
}

static int make_list(const struct config *config, struct bundle_list *list, struct error *err)
{
	list->items = calloc(json_array_size(config->bundles) + 1, sizeof(*list->items));
	return list->items ? 0 : error_errno(err, ENOMEM, "bundles");
}

int bundles_build(const struct config *config, const struct state_dir *dir,
		  const struct workspace *kept, struct bundle_list *out, struct error *err)
{
	struct bundle_list list = BUNDLE_LIST_INIT;
	json_t *bundle;
	size_t i;

	if (make_list(config, &list, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		int status = has_review(kept, bundle)
				     ? keep_review(bundle, kept, &list.items[i], err)
				     : build_one(bundle, config, dir, &list.items[i], err);

		if (status < 0) {
			bundles_close(&list);
			return name_source(bundle, i, err);
		}
		list.count++;
	}
	*out = list;
	return 0;
}

/* --- in the workspace's directory ------------------------------------------------------------ */

static bool is_kept(const struct config *config, const struct bundle_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kept &&
		    review_is_file_of(name,
				      json_text(json_array_get(config->bundles, i), "name", "")))
			return true;
	return false;
}

static int remove_old_bundles(const struct config *config, const struct bundle_list *list,
			      const struct workspace *ws, struct error *err)
{
	int own = openat(ws->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (review_is_file(entry->d_name) && !is_kept(config, list, entry->d_name) &&
		    path_remove_tree_at(ws->fd, entry->d_name, err) < 0)
			return -1;
	return 0;
}

/* Stores the digest of a bundle's disk in the cache of digests again. The times of the file have
 * changed because it got a name, but its bytes are the same. */
static void remember_bundle(const struct bundle *bundle)
{
	struct digest_key key;

	if (digest_key(bundle->fd, DIGEST_FILE, &key, NULL) == 0)
		digest_remember(&key, bundle->disk);
}

int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err)
{
	json_t *bundle;
	size_t i;

	if (remove_old_bundles(config, list, ws, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		char name[BUNDLE_FILE_NAME];

		if (i >= list->count)
			return error_set(
				err, ERR_INTERNAL,
				"a bundle of the config was not unpacked, and no error was noted: this is a bug of microagent");
		if (list->items[i].kept)
			continue;
		bundle_file_name(bundle, name);
		if (file_give_name(list->items[i].fd, ws->fd, name) < 0)
			return error_errno(err, errno, "%s", name);
		remember_bundle(&list->items[i]);
		if (bundle_kind(bundle) != BUNDLE_REVIEW)
			continue;
		review_file_name(json_text(bundle, "name", ""), REVIEW_LIST, name);
		if (file_give_name(list->items[i].list, ws->fd, name) < 0)
			return error_errno(err, errno, "%s", name);
		if (review_write_upper(ws->fd, json_text(bundle, "name", ""), list->items[i].upper,
				       err) < 0)
			return -1;
	}
	return 0;
}

static void open_bundle(const json_t *json, const struct workspace *ws, struct bundle *bundle)
{
	char name[BUNDLE_FILE_NAME];

	bundle_file_name(json, name);
	bundle->list = -1;
	bundle->fd = ws->fd < 0 ? error_errno(&bundle->error, ENOENT, "%s", name)
				: open_made_file(ws, name, &bundle->error);
	if (bundle->fd < 0)
		error_prefix(&bundle->error, "a file that prepare made");
	else if (digest_of(bundle->fd, DIGEST_FILE, bundle->disk, &bundle->error) < 0)
		error_prefix(&bundle->error, "%s", name);
	else if (bundle_kind(json) == BUNDLE_REVIEW)
		(void)review_read_upper(ws->fd, json_text(json, "name", ""), bundle->upper,
					&bundle->error);
}

int bundles_open(const struct config *config, const struct workspace *ws, struct bundle_list *out,
		 struct error *err)
{
	struct bundle_list list = BUNDLE_LIST_INIT;
	json_t *bundle;
	size_t i;

	if (make_list(config, &list, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		open_bundle(bundle, ws, &list.items[list.count++]);
	}
	*out = list;
	return 0;
}

int bundles_attach(const struct config *config, struct bundle_list *list, struct disk_list *disks,
		   struct error *err)
{
	json_t *json;
	size_t i;

	json_array_foreach(config->bundles, i, json)
	{
		struct bundle *bundle = i < list->count ? &list->items[i] : NULL;
		char serial[VM_SERIAL_SIZE];

		if (!bundle || bundle->error.code) {
			error_set(
				err, ERR_INTERNAL,
				"a bundle of the config was not opened, and no error was noted: this is a bug of microagent");
			if (bundle && err)
				*err = bundle->error;
			return error_prefix(err, "config.bundles[%zu]", i);
		}
		snprintf(serial, sizeof(serial), "bundle-%u", (unsigned)i);
		if (disks_add(disks, serial, json_text(json, "name", NULL),
			      json_text(json, "mountpoint", NULL), bundle->upper, true,
			      steal_fd(&bundle->fd), err) < 0)
			return -1;
	}
	return 0;
}
