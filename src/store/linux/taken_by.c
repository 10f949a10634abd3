/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "store/internal.h"

#define TITLE_BYTES 8192

/* The last name in a link of /proc/PID/fd; "" for none. */
static const char *name_of_link(int fds, const char *number, char target[PATH_MAX])
{
	ssize_t n = readlinkat(fds, number, target, PATH_MAX - 1);
	const char *slash;

	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	return slash ? slash + 1 : "";
}

/* The name is looked at first: asking a file of a dead network disk could hang. */
static bool process_has_file(int process, const char *name, const struct stat *file)
{
	autoclose int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fds >= 0 ? fdopendir(fds) : NULL;
	char target[PATH_MAX];
	struct dirent *entry;
	struct stat st;

	if (dir)
		steal_fd(&fds); /* the stream's own */
	while (dir && (entry = readdir(dir)))
		if (strcmp(name_of_link(dirfd(dir), entry->d_name, target), name) == 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && st.st_dev == file->st_dev &&
		    st.st_ino == file->st_ino)
			return true;
	return false;
}

/* A live supervisor says in its title whose it is: <stateDir>/<id>. */
static bool is_live_of(int process, char *out, size_t size)
{
	static const char live[] = "-supervisor: live ";
	autobuf struct buf title = BUF_INIT(TITLE_BYTES);
	const char *label;

	if (path_read_file_at(process, "cmdline", &title, NULL) < 0 ||
	    strncmp(buf_string(&title), "microagent-", 11) != 0)
		return false;
	label = strstr(buf_string(&title), live);
	if (label)
		snprintf(out, size, "%s", label + strlen(live));
	return label != NULL;
}

bool taken_by(int fd, char *out, size_t size)
{
	autodir DIR *proc = opendir("/proc");
	char own[32], target[PATH_MAX];
	struct dirent *entry;
	const char *name;
	struct stat st;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	name = name_of_link(AT_FDCWD, own, target);
	while (proc && *name && fstat(fd, &st) == 0 && (entry = readdir(proc))) {
		if (strtol(entry->d_name, NULL, 10) <= 0)
			continue;
		autoclose int process =
			openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (process >= 0 && is_live_of(process, out, size) &&
		    process_has_file(process, name, &st))
			return true;
	}
	return false;
}
