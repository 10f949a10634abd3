/* SPDX-License-Identifier: MIT */
/* Implements the state directory and lists its contents. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/runtime_id.h"
#include "store/internal.h"
#include "store/own_dirs.h"

bool runtime_id_is_reserved(const char *id)
{
	return runtime_id_taken(id);
}

int state_dir_open_part(const char *path, bool create, const struct state_dir *within,
			struct state_dir *out, struct error *err)
{
	autofree char *absolute = path_absolute(path, err);
	autoclose int fd = -1;

	if (!absolute)
		return -1;
	fd = own_dir_open(absolute, create, OWN_STATE, within, err);
	if (fd < 0)
		return -1;
	out->fd = steal_fd(&fd);
	out->path = steal_ptr(&absolute);
	return 0;
}

bool state_dir_has_locks(const struct state_dir *dir)
{
	struct stat st;

	return fstatat(dir->fd, LOCKS_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int state_dir_open(const char *path, bool create, struct state_dir *out, struct error *err)
{
	if (state_dir_open_part(path, create, NULL, out, err) < 0)
		return -1;
	/* Only a state directory of microagent is marked and listed (own_dirs.h). The directory
	 * counts as one if `create` is set, or if it already has a marker or a directory of
	 * locks. */
	if (create || own_dir_is_marked(out->fd, OWN_STATE) || state_dir_has_locks(out))
		own_dir_note(out->fd, OWN_STATE);
	return 0;
}

int state_dir_check_place(const char *path, struct error *err)
{
	autofree char *place = path_absolute(path, err);
	struct stat st;
	char *slash;

	if (!place)
		return -1;
	/* The loop finds the nearest existing directory, in which a missing directory would be
	 * made. */
	errno = 0;
	while (faccessat(AT_FDCWD, place, F_OK, AT_EACCESS) < 0 && errno == ENOENT && place[1] &&
	       (slash = strrchr(place, '/')))
		slash[slash == place] = '\0';
	if (errno == ENOTDIR || (stat(place, &st) == 0 && !S_ISDIR(st.st_mode)))
		return error_set(err, ERR_INVALID,
				 "state directory %s is not a directory: name another", path);
	if (faccessat(AT_FDCWD, place, W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	return error_errno(err, errno, "state directory: %s: cannot write into %s", path, place);
}

void state_dir_close(struct state_dir *dir)
{
	if (dir->path && dir->fd >= 0)
		close(dir->fd);
	free(dir->path);
	dir->path = NULL;
	dir->fd = -1;
}

char *home_of_account(void)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) != 0 || !found)
		return NULL;
	return *found->pw_dir == '/' ? strdup(found->pw_dir) : NULL;
}

char *home_dir(void)
{
	const char *home = getenv("HOME");

	return home && *home == '/' ? strdup(home) : home_of_account();
}

char *state_dir_default(const char *option, struct error *err)
{
	const char *path = option;
	autofree char *home = NULL;

	if (!path)
		path = getenv("MICROAGENT_STATE_DIR");
	if (path && *path)
		return path_absolute(path, err);
	if (option) {
		error_set(err, ERR_INVALID,
			  "the name of the state directory is empty: give one, or leave it out");
		return NULL;
	}
	home = home_dir();
	if (home)
		return path_join(home, ".microagent", err);
	error_set(err, ERR_NOT_FOUND,
		  "there is no home directory to keep the state in; set MICROAGENT_STATE_DIR");
	return NULL;
}

bool state_dir_has_digests(const struct state_dir *dir, const char *id)
{
	char name[RECORD_DIGEST_ROOM];
	struct stat st;

	snprintf(name, sizeof(name), LOCKS_DIR "/" RECORD_DIGEST "%.160s", id);
	return fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns true if the name is the name of a workspace. A directory that this process may not open
 * counts as a workspace if microagent has recorded digests for it: its live supervisor may have
 * removed the rights. */
static bool is_workspace(const struct state_dir *dir, const char *name)
{
	static const char *const records[] = {"workspace.json", "event.json"};
	autoclose int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(records); i++)
		if (!fstatat(fd, records[i], &st, AT_SYMLINK_NOFOLLOW) ||
		    (errno == EACCES && state_dir_has_digests(dir, name)))
			return true;
	return false;
}

/* Inserts a name into the sorted list. The caller passes the names in any order, and each name at
 * most once. A name that is not UTF-8 is left out, because no request can name such a workspace. */
static void insert_name(json_t *list, const char *name)
{
	size_t low = 0, high = json_array_size(list);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(json_string_value(json_array_get(list, middle)), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	json_array_insert_new(list, low, json_string(name));
}

json_t *state_dir_list(const struct state_dir *dir, struct error *err)
{
	json_auto_t *names = json_array();
	/* The directory is opened a second time, because readers of the same open file description
	 * would share one position in the directory. */
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!names || !entries) {
		error_errno(err, names ? errno : ENOMEM, "list %s", dir->path);
		if (fd >= 0 && !entries)
			close(fd);
		return NULL;
	}
	while ((errno = 0, entry = readdir(entries))) {
		if (!path_is_safe_basename(entry->d_name) || runtime_id_taken(entry->d_name) ||
		    !is_workspace(dir, entry->d_name))
			continue;
		insert_name(names, entry->d_name);
	}
	if (errno) {
		error_errno(err, errno, "list %s", dir->path);
		return NULL;
	}
	return steal_ptr(&names);
}

int state_require_room(int fd, const char *what, struct error *err)
{
	struct statvfs fs;
	uint64_t least = limit_get(LIMIT_STATE_FREE_BYTES);

	if (fstatvfs(fd, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= least)
		return 0;
	return error_set(
		err, ERR_UNAVAILABLE,
		"no space left where %s is: %llu bytes are free and %llu are needed; make room and try again",
		what, (unsigned long long)fs.f_bavail * fs.f_frsize, (unsigned long long)least);
}
