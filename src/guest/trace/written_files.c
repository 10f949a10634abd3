/* SPDX-License-Identifier: MIT */
#include "guest/trace/written_files.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

/* Returns true if programs store files in file systems of this type. Returns false for types such
 * as proc and sysfs. */
static bool holds_files(const char *type)
{
	static const char *const types[] = {"ext4",  "tmpfs", "virtiofs", "overlay", "ext3", "ext2",
					    "btrfs", "xfs",   "vfat",	  "fuse",    "f2fs"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

void written_files_mark(struct written_files *files)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;

	while (mounts && (entry = getmntent(mounts)))
		if (holds_files(entry->mnt_type))
			(void)fanotify_mark(files->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
					    FAN_CLOSE_WRITE, AT_FDCWD, entry->mnt_dir);
	if (mounts)
		endmntent(mounts);
}

int written_files_begin(struct written_files *files, struct error *err)
{
	files->least = limit_get(LIMIT_TELEMETRY_WRITE_BYTES);
	files->mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
	files->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK,
				  O_RDONLY | O_LARGEFILE | O_CLOEXEC);
	if (files->fd < 0)
		return error_errno(err, errno, "fanotify");
	if (fanotify_mark(files->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_CLOSE_WRITE, AT_FDCWD,
			  "/") < 0) {
		error_errno(err, errno, "fanotify on /");
		written_files_end(files);
		return -1;
	}
	written_files_mark(files);
	return 0;
}

void written_files_end(struct written_files *files)
{
	if (files->fd >= 0)
		close(steal_fd(&files->fd));
	if (files->mounts >= 0)
		close(steal_fd(&files->mounts));
}

void written_files_opened(struct written_files *files, dev_t dev, ino_t inode)
{
	size_t last = (files->next + WRITTEN_OPENED - 1) % WRITTEN_OPENED;

	if (files->opened[last].dev == dev && files->opened[last].inode == inode)
		return;
	files->opened[files->next].dev = dev;
	files->opened[files->next].inode = inode;
	files->next = (files->next + 1) % WRITTEN_OPENED;
}

bool written_files_is_ours(const struct written_files *files, const struct written_file *file)
{
	for (size_t i = 0; i < WRITTEN_OPENED; i++)
		if (files->opened[i].inode == file->inode && files->opened[i].dev == file->dev)
			return true;
	return false;
}

/* Returns the entry of this file and process, or a new entry if there is none yet. */
static struct written_file *place_for(struct written_files *files, const struct stat *st, pid_t pid)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->closed[i].inode == st->st_ino && files->closed[i].dev == st->st_dev &&
		    files->closed[i].pid == pid)
			return &files->closed[i];
	return &files->closed[files->count++];
}

static void take_closed(struct written_files *files, int fd, pid_t pid)
{
	struct written_file *file;
	struct stat st;
	char link[40];
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < files->least)
		return;
	file = place_for(files, &st, pid);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, file->path, sizeof(file->path) - 1);
	file->path[n > 0 ? n : 0] = '\0';
	file->dev = st.st_dev;
	file->inode = st.st_ino;
	file->pid = pid;
	file->bytes = (uint64_t)st.st_size;
	file->real_ms = clock_real_ns() / (int64_t)NS_PER_MS;
}

bool written_files_read(struct written_files *files)
{
	struct fanotify_event_metadata event;

	while (files->fd >= 0 && files->count < WRITTEN_CLOSED) {
		/* Reads only one event at a time, since each event brings an open file
		 * descriptor. */
		ssize_t n = read(files->fd, &event, sizeof(event));

		if (n < (ssize_t)sizeof(event))
			return true;
		if (event.mask & FAN_Q_OVERFLOW)
			files->lost++;
		if (event.fd >= 0) {
			take_closed(files, event.fd, event.pid);
			close(event.fd);
		}
	}
	return files->fd < 0;
}
