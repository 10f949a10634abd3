/* SPDX-License-Identifier: MIT */
#include "supervisor/bundles.h"

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
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "channel/hasher.h"

#define PREFIX "bundle-"
#define SUFFIX ".ext4"
#define FILE_ROOM 160
#define CHILD_FILE_FD 3
#define ANSWER_BYTES 65536

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void file_name(const json_t *bundle, char out[FILE_ROOM])
{
	snprintf(out, FILE_ROOM, PREFIX "%s" SUFFIX, text_of(bundle, "name"));
}

void bundles_close(struct bundle_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		close(list->fds[i]);
	free(list->fds);
	*list = (struct bundle_list)BUNDLE_LIST_INIT;
}

/* --- building --------------------------------------------------------------------------------- */

/* Not blocking: a FIFO in its place must not hold us up. */
static int check_archive(const char *path, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a regular file", path);
	return 0;
}

int bundles_check(const struct config *config, struct error *err)
{
	json_t *bundle;
	size_t i;

	json_array_foreach(config->bundles, i, bundle)
	{
		if (check_archive(text_of(bundle, "path"), err) < 0)
			return error_prefix(err, "config.bundles[%zu].path", i);
	}
	return 0;
}

/* What the builder said went wrong. */
static int take_error(const struct buf *answer, int code, struct error *err)
{
	json_auto_t *document = json_load_strict(buf_bytes(answer), answer->len, NULL);
	const char *text = text_of(document, "error"), *name = text_of(document, "errorCode");

	if (code == 0)
		return 0;
	if (!text || !name)
		return error_set(err, ERR_IO, "microagent-artifact ended with code %d", code);
	return error_set(err, error_code_from_name(name), "%s", text);
}

static int run_builder(const char *path, int to, struct error *err)
{
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_BUNDLE_MS) * NS_PER_MS;
	autofree char *program = hasher_program(err);
	const char *const argv[] = {program, "bundle-build", "--json", "--from",
				    path,    "--fd",	     "3",      NULL};
	autoclose int said = fd_memfd("answer", "", 0, err);
	autobuf struct buf answer = BUF_INIT(ANSWER_BYTES);
	struct proc child = PROC_NONE;
	int code = 0, status;

	if (!program || said < 0)
		return -1;
	const struct proc_fd fds[] = {{said, STDOUT_FILENO}, {to, CHILD_FILE_FD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .die_with_parent = true};

	if (proc_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "microagent-artifact");
	status = proc_wait(&child, deadline, &code, err);
	proc_end(&child);
	if (status < 0)
		return -1;
	if (lseek(said, 0, SEEK_SET) < 0 || fd_read_to_end(said, &answer, err) < 0)
		return error_set(err, ERR_IO, "microagent-artifact gave no answer");
	return take_error(&answer, code, err);
}

static int build_one(const json_t *bundle, const struct state_dir *dir, struct error *err)
{
	autoclose int fd = openat(dir->fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, errno, "%s", dir->path);
	if (check_archive(text_of(bundle, "path"), err) < 0 ||
	    run_builder(text_of(bundle, "path"), fd, err) < 0)
		return -1;
	return steal_fd(&fd);
}

int bundles_build(const struct config *config, const struct state_dir *dir, struct bundle_list *out,
		  struct error *err)
{
	struct bundle_list list = {
		.fds = calloc(json_array_size(config->bundles) + 1, sizeof(int))};
	json_t *bundle;
	size_t i;

	if (!list.fds)
		return error_errno(err, ENOMEM, "bundles");
	json_array_foreach(config->bundles, i, bundle)
	{
		list.fds[i] = build_one(bundle, dir, err);
		if (list.fds[i] < 0) {
			bundles_close(&list);
			return error_prefix(err, "config.bundles[%zu].path", i);
		}
		list.count++;
	}
	*out = list;
	return 0;
}

/* --- in the workspace's directory --------------------------------------------------------------- */

static bool is_bundle(const char *name)
{
	size_t len = strlen(name);

	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && len > strlen(SUFFIX) &&
	       strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int remove_earlier(const struct workspace *ws, struct error *err)
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

int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err)
{
	json_t *bundle;
	size_t i;

	if (remove_earlier(ws, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, bundle)
	{
		char from[40], name[FILE_ROOM];

		file_name(bundle, name);
		snprintf(from, sizeof(from), "/proc/self/fd/%d",
			 i < list->count ? list->fds[i] : -1);
		if (linkat(AT_FDCWD, from, ws->fd, name, AT_SYMLINK_FOLLOW) < 0)
			return error_errno(err, errno, "%s", name);
	}
	return 0;
}

int bundles_attach(const struct config *config, const struct workspace *ws, struct disk_list *disks,
		   struct error *err)
{
	json_t *bundle;
	size_t i;

	json_array_foreach(config->bundles, i, bundle)
	{
		char name[FILE_ROOM], serial[VM_SERIAL_SIZE];
		int fd;

		file_name(bundle, name);
		snprintf(serial, sizeof(serial), "bundle-%u", (unsigned)i);
		fd = openat(ws->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			return error_errno(err, errno,
					   "config.bundles[%zu]: %s, which prepare made", i, name);
		if (disks_add(disks, serial, text_of(bundle, "name"), text_of(bundle, "mountpoint"),
			      true, fd, err) < 0)
			return -1;
	}
	return 0;
}
