/* SPDX-License-Identifier: MIT */
#include "store/share/host_system.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/kernel_fs.h"

/* The numbers of the accounts of people. The accounts between root (0) and PERSON_FIRST are
 * services, whose home directories are parts of the system. */
#define PERSON_FIRST 1000
#define PERSON_LAST 59999

const struct share_place share_places[] = {
	{"/", REACH_ITSELF},
	{"/Users", REACH_ITSELF},
	{"/Volumes", REACH_ITSELF},
	{"/home", REACH_ITSELF},
	{"/root", REACH_ITSELF},
	{"/mnt", REACH_ITSELF},
	{"/media", REACH_ITSELF},
	{"/etc", REACH_BELOW},
	{"/proc", REACH_BELOW},
	{"/sys", REACH_BELOW},
	{"/dev", REACH_BELOW},
	{"/run", REACH_BELOW},
	{"/var", REACH_BELOW},
	{"/boot", REACH_BELOW},
	/* Directories of root with programs that all users of the host run and trust. /tmp contains
	 * files of all users. */
	{"/usr", REACH_ITSELF},
	{"/usr/local", REACH_ITSELF},
	{"/opt", REACH_ITSELF},
	{"/srv", REACH_ITSELF},
	{"/tmp", REACH_ITSELF},
	{"/usr/bin", REACH_BELOW},
	{"/usr/sbin", REACH_BELOW},
	{"/usr/lib", REACH_BELOW},
	{"/usr/lib32", REACH_BELOW},
	{"/usr/lib64", REACH_BELOW},
	{"/usr/libx32", REACH_BELOW},
	{"/usr/libexec", REACH_BELOW},
	{"/usr/include", REACH_BELOW},
	{"/usr/share", REACH_BELOW},
	{"/usr/games", REACH_BELOW},
	{"/usr/local/bin", REACH_BELOW},
	{"/usr/local/sbin", REACH_BELOW},
	{"/usr/local/lib", REACH_BELOW},
	{"/usr/local/libexec", REACH_BELOW},
	{"/usr/local/include", REACH_BELOW},
	{"/usr/local/share", REACH_BELOW},
	{"/usr/local/etc", REACH_BELOW},
	{"/usr/local/games", REACH_BELOW},
	/* On a system with a merged /usr, these directories are links into /usr. */
	{"/bin", REACH_BELOW},
	{"/sbin", REACH_BELOW},
	{"/lib", REACH_BELOW},
	{"/lib32", REACH_BELOW},
	{"/lib64", REACH_BELOW},
	{"/libx32", REACH_BELOW},
	{NULL, REACH_ITSELF},
};

#define NAME(name, number) name,
const char *const share_kernel_types[] = {KERNEL_FILE_SYSTEMS(NAME) "devtmpfs", NULL};

const char *const share_system_keys[] = {NULL};

static bool is_person(uid_t uid)
{
	return uid == 0 || uid == geteuid() || (uid >= PERSON_FIRST && uid <= PERSON_LAST);
}

int share_each_home(share_path_fn *fn, void *data, struct error *err)
{
	autofile FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry = {0}, *found = NULL;
	char room[4096];

	while (file && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0)
		if (is_person(entry.pw_uid) && fn(data, entry.pw_dir, err) < 0)
			return -1;
	return 0;
}

/* Calls `fn` once for each file in /proc/thread-self/maps. The lines about one file follow each
 * other there, so a path that is the same as the last one is skipped. */
int share_each_loaded(share_path_fn *fn, void *data, struct error *err)
{
	autofile FILE *maps = fopen("/proc/thread-self/maps", "re");
	char line[PATH_MAX + 128], last[PATH_MAX] = "";

	if (!maps)
		return error_errno(err, errno, "/proc/thread-self/maps");
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!path || strcmp(path, last) == 0)
			continue;
		snprintf(last, sizeof(last), "%s", path);
		if (fn(data, path, err) < 0)
			return -1;
	}
	return 0;
}
