/* SPDX-License-Identifier: MIT */
/* Makes and removes the directory .warming, which a process has while it makes or drops a template.
 * Also removes a directory .warming that a killed process has left. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "session/bases/provision.h"
#include "session/templates/template.h"

/* Removes the directory .warming, which this process has locked. First waits until all processes of
 * the machine in .warming have exited, because they write to files there. */
static int remove_warming(int bundle, const char *path, struct error *err)
{
	autofree char *warming = path_join(path, TEMPLATE_WARMING, err);

	if (!warming)
		return -1;
	provision_wait_gone(warming);
	return path_remove_tree_at(bundle, TEMPLATE_WARMING, err);
}

/* Opens and locks the directory .warming. Returns 1 with the descriptor in *out. Returns 0 if the
 * directory does not exist, or if another process removed the directory before this process got the
 * lock. Returns -1 with err set if another process holds the lock. */
static int take_warming(int bundle, int *out, struct error *err)
{
	autoclose int fd =
		openat(bundle, TEMPLATE_WARMING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, TEMPLATE_WARMING);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? error_set(
					 err, ERR_CONFLICT,
					 "another command is making or removing the template of this base: try again when that has ended")
			       : error_errno(err, errno, TEMPLATE_WARMING);
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, TEMPLATE_WARMING);
	if (st.st_nlink == 0)
		return 0;
	*out = steal_fd(&fd);
	return 1;
}

int warming_begin(const struct base *base, struct error *err)
{
	for (;;) {
		bool is_new = mkdirat(base->fd, TEMPLATE_WARMING, 0700) == 0;
		autoclose int fd = -1;
		int taken;

		if (!is_new && errno != EEXIST)
			return error_errno(err, errno, "%s/" TEMPLATE_WARMING, base->path);
		taken = take_warming(base->fd, &fd, err);
		if (taken < 0)
			return error_prefix(err, "base %s", base->name.full);
		if (taken && is_new)
			return steal_fd(&fd);
		if (taken && remove_warming(base->fd, base->path, err) < 0)
			return -1;
	}
}

void warming_end(const struct base *base, int warming)
{
	(void)remove_warming(base->fd, base->path, NULL);
	close(warming);
}

static void sweep_base(const struct state_dir *dir, const char *file, const char *name,
		       json_t *removed)
{
	autoclose int bundle =
		openat(dir->fd, file, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autofree char *path = path_join(dir->path, file, NULL);
	autoclose int fd = -1;

	if (bundle >= 0 && path && take_warming(bundle, &fd, NULL) > 0 &&
	    remove_warming(bundle, path, NULL) == 0 && removed)
		json_array_append_new(removed, json_sprintf("%s/" TEMPLATE_WARMING, name));
}

void templates_sweep(const struct microagent *agent, json_t *removed)
{
	struct state_dir dir;

	if (state_sub_open(agent, BASES_DIR, false, &dir, NULL) < 0)
		return;
	int own = openat(dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		struct base_name name;

		if (base_name_of_bundle(entry->d_name, &name))
			sweep_base(&dir, entry->d_name, name.full, removed);
	}
	state_dir_close(&dir);
}
