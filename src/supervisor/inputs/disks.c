/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/disks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "store/disk_file.h"
#include "store/taken.h"
#include "supervisor/inputs/rootfs.h"

#define FIELD_BYTES 48

void disks_close(struct disk_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].mountpoint);
		close(list->items[i].fd);
	}
	free(list->items);
	*list = (struct disk_list)DISK_LIST_INIT;
}

int disks_add(struct disk_list *list, const char *serial, const char *name, const char *mountpoint,
	      const char *upper, bool read_only, int fd, struct error *err)
{
	struct disk *grown = array_resize(list->items, list->count + 1, sizeof(*grown));
	struct disk disk = {.read_only = read_only, .fd = fd};
	int len = snprintf(disk.serial, sizeof(disk.serial), "%s", serial);

	if (grown)
		list->items = grown;
	snprintf(disk.upper, sizeof(disk.upper), "%s", upper);
	disk.name = strdup(name);
	disk.mountpoint = strdup(mountpoint);
	if (grown && disk.name && disk.mountpoint && len > 0 && (size_t)len < sizeof(disk.serial)) {
		list->items[list->count++] = disk;
		return 0;
	}
	free(disk.name);
	free(disk.mountpoint);
	close(fd);
	return len >= (int)sizeof(disk.serial)
		       ? error_set(
				 err, ERR_INTERNAL,
				 "the serial \"%s\" of a disk is too long: this is a bug of microagent",
				 serial)
		       : error_errno(err, ENOMEM, "disk %s", name);
}

/* --- one file -------------------------------------------------------------------------------- */

/* Refuses a file that is read-only, even if this user is root. Root could write to any file, but a
 * user who has made a file read-only does not want it to be changed. */
static int refuse_read_only_disk(const char *path, const struct stat *st, struct error *err)
{
	if ((st->st_mode & S_IWUSR) && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
		return 0;
	return error_set(err, ERR_DENIED,
			 "%s is read-only: attach it with mode \"ro\", or make it writable", path);
}

static int open_disk_file(const char *path, bool read_only, bool direct, enum disk_use use,
			  struct error *err)
{
	int flags = !read_only && use == DISK_BOOT ? O_RDWR : O_RDONLY;
	autoclose int fd = disk_file_open(path, flags, direct, err);
	struct stat st;

	if (fd < 0 && err && err->errnum == ENOENT)
		return error_set(err, ERR_NOT_FOUND,
				 "%s does not exist: make this disk, or name another file", path);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is a directory, and a disk must be a file: name directories in config.shares",
			path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file: a disk is a file that has an ext4 file system, so name such a file",
			path);
	if (st.st_size == 0)
		return error_set(err, ERR_INVALID, "%s is empty", path);
	if (!read_only && refuse_read_only_disk(path, &st, err) < 0)
		return -1;
	if (rootfs_refuse_qcow2(fd, err) < 0)
		return error_prefix(err, "%s", path);
	if (!rootfs_has_ext4_magic(fd))
		return error_set(err, ERR_INVALID,
				 "%s holds no ext4 file system: make one with mke2fs -t ext4",
				 path);
	return steal_fd(&fd);
}

static bool is_same_file(int a, int b)
{
	struct stat sa, sb;

	return a >= 0 && b >= 0 && fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* Refuses a file that the config names for two disks, unless both disks are read-only. A guest that
 * mounts a file system twice and writes to it would corrupt it. */
static int refuse_twice(const struct disk_list *list, int rootfs_fd, int fd, bool read_only,
			const char *path, struct error *err)
{
	if (is_same_file(rootfs_fd, fd))
		return error_set(
			err, ERR_INVALID,
			"%s is already the root disk (config.rootfsPath): leave it out of config.disks",
			path);
	for (size_t i = 0; i < list->count; i++)
		if ((!read_only || !list->items[i].read_only) &&
		    is_same_file(list->items[i].fd, fd))
			return error_set(
				err, ERR_INVALID,
				"%s is also the disk \"%s\", and one of the two is writable: attach it once, or both times with mode \"ro\"",
				path, list->items[i].name);
	return 0;
}

/* --- the disks of the config ----------------------------------------------------------------- */

static int open_declared_disk(const json_t *item, size_t index, int rootfs_fd, enum disk_use use,
			      struct disk_list *list, struct error *err)
{
	const char *path = json_text(item, "path", NULL);
	bool read_only = strcmp(json_text(item, "mode", NULL), "ro") == 0;
	bool direct = json_is_true(json_object_get(item, "direct"));
	autoclose int fd = open_disk_file(path, read_only, direct, use, err);
	char serial[VM_SERIAL_SIZE];

	if (fd < 0 || refuse_twice(list, rootfs_fd, fd, read_only, path, err) < 0)
		return -1;
	snprintf(serial, sizeof(serial), "disk-%u", (unsigned)index);
	return disks_add(list, serial, json_text(item, "name", NULL),
			 json_text(item, "mountpoint", NULL), "", read_only, steal_fd(&fd), err);
}

int disks_open(const struct config *config, int rootfs_fd, enum disk_use use, struct disk_list *out,
	       struct error *err)
{
	struct disk_list list = DISK_LIST_INIT;
	json_t *item;
	size_t i;

	json_array_foreach(config->disks, i, item)
	{
		if (open_declared_disk(item, i, rootfs_fd, use, &list, err) < 0) {
			disks_close(&list);
			return error_prefix(err, "config.disks[%zu].path", i);
		}
	}
	*out = list;
	return 0;
}

int disks_take(const struct config *config, const struct disk_list *list, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const json_t *item = json_array_get(config->disks, i);

		if (file_take(list->items[i].fd, json_text(item, "path", ""),
			      list->items[i].read_only, err) < 0)
			return error_prefix(err, "config.disks[%zu].path", i);
	}
	return 0;
}

/* --- the disks as JSON ----------------------------------------------------------------------- */

json_t *disks_json(const struct disk_list *list, struct error *err)
{
	json_auto_t *array = json_array();

	for (size_t i = 0; array && i < list->count; i++) {
		const struct disk *disk = &list->items[i];
		json_t *item = json_pack("{s:s, s:s, s:s, s:s}", "serial", disk->serial, "name",
					 disk->name, "mountpoint", disk->mountpoint, "mode",
					 *disk->upper	   ? bundle_kind_names[BUNDLE_REVIEW]
					 : disk->read_only ? "ro"
							   : "rw");

		if ((*disk->upper && json_put_string(item, "upper", disk->upper, err) < 0) ||
		    json_array_append_new(array, item) < 0) {
			error_errno(err, ENOMEM, "disks");
			return NULL;
		}
	}
	if (!array)
		error_errno(err, ENOMEM, "disks");
	return steal_ptr(&array);
}
