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
#include "base/platform/file.h"
#include "base/proc.h"
#include "channel/hasher.h"
#include "store/own_links.h"

#define PREFIX "bundle-"
#define SUFFIX ".ext4"
#define CHILD_FILE_FD 3
#define CHILD_ARCHIVE_FD 4
#define ANSWER_BYTES 65536

void bundle_file_name(const json_t *bundle, char out[BUNDLE_FILE_NAME])
{
	snprintf(out, BUNDLE_FILE_NAME, PREFIX "%s" SUFFIX, json_text(bundle, "name", NULL));
}

void bundles_close(struct bundle_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].fd >= 0)
			close(list->items[i].fd);
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

/* --- building -------------------------------------------------------------------------------- */

int bundles_check(const struct config *config, struct error *err)
{
	json_t *bundle;
	size_t i;

	json_array_foreach(config->bundles, i, bundle)
	{
		autoclose int fd = open_archive(bundle, err);

		if (fd < 0)
			return error_prefix(err, "config.bundles[%zu].path", i);
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
			"the bundle was not unpacked, because microagent-artifact ended with code %d and did not say why: this is a bug of microagent, or the program was ended from outside",
			code);
	return json_get_error(document, NULL, err);
}

/* Runs the builder, which makes a disk in `to` from the archive. `path` is the name of the archive
 * in messages. */
static int run_builder(const char *path, int archive, int to, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_BUNDLE_MS);
	autofree char *program = hasher_program(err);
	const char *const argv[] = {program, "bundle-build", "--json", "--from", path, "--from-fd",
				    "4",     "--fd",	     "3",      NULL};
	autoclose int said = fd_memfd("answer", "", 0, err);
	autobuf struct buf answer = BUF_INIT(ANSWER_BYTES);
	struct proc child = PROC_NONE;
	int code = 0, status;

	if (!program || said < 0)
		return -1;
	const struct proc_fd fds[] = {
		{said, STDOUT_FILENO}, {to, CHILD_FILE_FD}, {archive, CHILD_ARCHIVE_FD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .die_with_parent = true};

	if (proc_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "microagent-artifact");
	status = proc_wait(&child, deadline, &code, err);
	proc_end(&child);
	if (status < 0)
		return -1;
	if (lseek(said, 0, SEEK_SET) < 0 || fd_read_to_end(said, &answer, err) < 0)
		return error_set(
			err, ERR_IO,
			"the bundle was not unpacked, because the answer of microagent-artifact cannot be read: try again");
	return take_error(&answer, code, err);
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
	if (run_builder(path, archive, bundle->fd, err) < 0 ||
	    digest_key(archive, DIGEST_FILE, &after, err) < 0)
		return -1;
	if (!digest_key_equal(&before, &after))
		return error_set(err, ERR_UNAVAILABLE,
				 "%s was changed while it was unpacked; try again", path);
	return digest_of(bundle->fd, DIGEST_FILE, bundle->disk, err);
}

static int build_one(const json_t *json, const struct state_dir *dir, struct bundle *out,
		     struct error *err)
{
	struct bundle bundle = {.fd = file_open_nameless(dir->fd, O_RDWR)};

	if (bundle.fd < 0)
		return error_errno(err, errno, "%s", dir->path);
	if (unpack_bundle(json, &bundle, err) < 0) {
		close(bundle.fd);
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

int bundles_build(const struct config *config, const struct state_dir *dir, struct bundle_list *out,
		  struct error *err)
{
	struct bundle_list list = BUNDLE_LIST_INIT;
	json_t *bundle;
	size_t i;

	if (make_list(config, &list, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		if (build_one(bundle, dir, &list.items[i], err) < 0) {
			bundles_close(&list);
			return error_prefix(err, "config.bundles[%zu].path", i);
		}
		list.count++;
	}
	*out = list;
	return 0;
}

/* --- in the workspace's directory ------------------------------------------------------------ */

static bool is_bundle(const char *name)
{
	size_t len = strlen(name);

	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && len > strlen(SUFFIX) &&
	       strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int remove_old_bundles(const struct workspace *ws, struct error *err)
{
	int own = openat(ws->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (is_bundle(entry->d_name) && workspace_remove_file(ws, entry->d_name, err) < 0)
			return -1;
	return 0;
}

/* Stores the digest of a bundle's disk in the memory of digests. The disk's new name has changed
 * the file's times, but not its bytes. */
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

	if (remove_old_bundles(ws, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		char name[BUNDLE_FILE_NAME];

		if (i >= list->count)
			return error_set(
				err, ERR_INTERNAL,
				"a bundle of the config was not unpacked, and no error was noted: this is a bug of microagent");
		bundle_file_name(bundle, name);
		if (file_give_name(list->items[i].fd, ws->fd, name) < 0)
			return error_errno(err, errno, "%s", name);
		remember_bundle(&list->items[i]);
	}
	return 0;
}

static void open_bundle(const json_t *json, const struct workspace *ws, struct bundle *bundle)
{
	char name[BUNDLE_FILE_NAME];

	bundle_file_name(json, name);
	bundle->fd = ws->fd < 0
			     ? -1
			     : openat(ws->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (bundle->fd < 0)
		error_errno(&bundle->error, ws->fd < 0 ? ENOENT : errno, "%s, which prepare made",
			    name);
	else if (digest_of(bundle->fd, DIGEST_FILE, bundle->disk, &bundle->error) < 0)
		error_prefix(&bundle->error, "%s", name);
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
			      json_text(json, "mountpoint", NULL), true, steal_fd(&bundle->fd),
			      err) < 0)
			return -1;
	}
	return 0;
}
