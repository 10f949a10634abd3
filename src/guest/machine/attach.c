/* SPDX-License-Identifier: MIT */
#include "guest/machine/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/agent/config.h"
#include "guest/files/walk.h"
#include "guest/init/blockdev.h"
#include "guest/init/uevent.h"
#include "guest/machine/network.h"
#include "guest/machine/review.h"

/* The flags for mounts of disks and shares of the host. Setuid bits in such a mount have no effect,
 * and device nodes in it cannot be opened. */
#define FLAGS (MS_NOSUID | MS_NODEV)

/* The directory on which a disk or share is mounted. The code uses a file descriptor of the
 * directory, since a user of the guest may change where the path of the directory leads. */
struct place {
	int fd;
	char name[32];
	/* The path of the directory below the root, without links; freed with the struct. */
	char *path;
};

static void leave_place(struct place *place)
{
	cleanup_close(&place->fd);
	free(place->path);
}
#define autoplace __attribute__((cleanup(leave_place)))

static int find_place(const char *mountpoint, struct place *out, struct error *err)
{
	struct walked found;

	if (walk_mountpoint(mountpoint, &found, err) < 0)
		return -1;
	out->fd = found.fd;
	snprintf(out->name, sizeof(out->name), "/proc/self/fd/%d", found.fd);
	out->path = strdup(found.path);
	return out->path ? 0 : error_errno(err, ENOMEM, "%s", mountpoint);
}

/* The paths of the mounts that were made. If a later mount fails, they are unmounted. */
struct mounted {
	char **paths;
	size_t count;
};

/* Unmounts all mounts, beginning with the last one. Resolves each path again with its links
 * checked, because a user of the guest may have put a link into the path after the mount. */
static void take_back(const struct mounted *mounted)
{
	for (size_t i = mounted->count; i-- > 0;) {
		autoplace struct place place = {.fd = -1};

		if (find_place(mounted->paths[i], &place, NULL) == 0)
			(void)umount2(place.name, MNT_DETACH);
	}
}

static int note_mounted(struct mounted *mounted, struct place *place, struct error *err)
{
	char **grown = reallocarray(mounted->paths, mounted->count + 1, sizeof(*grown));

	if (!grown)
		return error_errno(err, ENOMEM, "mounts");
	mounted->paths = grown;
	mounted->paths[mounted->count++] = steal_ptr(&place->path);
	return 0;
}

static int mount_disk(json_t *item, struct mounted *mounted, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	char name[BLOCKDEV_NAME], path[BLOCKDEV_NAME + 8];
	struct config_disk disk;
	autoplace struct place place = {.fd = -1};

	if (config_disk_decode(item, &disk, err) < 0)
		return -1;
	if (blockdev_find("/sys", disk.serial, deadline, name, err) < 0 ||
	    find_place(disk.mountpoint, &place, err) < 0)
		return error_prefix(err, "disk \"%s\"", disk.name);
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (disk.upper) {
		autoplace struct place lower = {.fd = -1};

		if (review_mount(path, &disk, place.name, &lower.path, err) < 0)
			return -1;
		return note_mounted(mounted, &lower, err) < 0 ? -1
							      : note_mounted(mounted, &place, err);
	}
	if (mount(path, place.name, "ext4", FLAGS | (disk.read_only ? MS_RDONLY : 0),
		  disk.read_only ? "noload" : NULL) < 0)
		return error_errno(err, errno, "cannot mount the disk \"%s\" as ext4 on %s",
				   disk.name, disk.mountpoint);
	return note_mounted(mounted, &place, err);
}

static bool share_is_mounted(const struct config_share *share, const struct place *place)
{
	return mount(share->tag, place->name, "virtiofs",
		     (share->containers ? 0 : FLAGS) | (share->read_only ? MS_RDONLY : 0),
		     NULL) == 0;
}

/* Mounts a share. The device of a share that was just plugged in may appear a moment later. Until
 * then mount() fails with EINVAL, so this function tries again each time that a new device
 * appears. */
static int mount_when_there(const struct config_share *share, const struct place *place,
			    struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	struct error late;

	/* The device is nearly always present already, so the function tries to mount before it
	 * opens a socket for events. */
	if (share_is_mounted(share, place))
		return 0;
	autoclose int events = uevent_open(err);
	if (events < 0)
		return -1;
	while (!share_is_mounted(share, place)) {
		int why = errno;

		if (why != EINVAL || uevent_wait(events, deadline, &late) < 0)
			return error_errno(err, why, "cannot mount the share \"%s\" on %s",
					   share->tag, share->mountpoint);
	}
	return 0;
}

/* Sets the read-ahead of a share to READ_AHEAD_KB. Each read request goes through the device to a
 * process of the host. So reading a file or a program is faster with few large requests. The
 * kernel's default of 128 KiB is meant for disks. READ_AHEAD_KB, in KiB, is the most that the
 * device accepts in one request (FUSE_MAX_MAX_PAGES, fs/fuse/fuse_i.h). If sysfs is not mounted,
 * the default is kept. */
#define READ_AHEAD_KB "1024"

static void read_further_ahead(const char *mountpoint)
{
	char path[64];
	struct stat st;

	if (stat(mountpoint, &st) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(st.st_dev),
		 minor(st.st_dev));
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fd_write_all(fd, READ_AHEAD_KB, strlen(READ_AHEAD_KB), NULL);
}

static int mount_share(json_t *item, struct mounted *mounted, struct error *err)
{
	struct config_share share;
	autoplace struct place place = {.fd = -1};

	if (config_share_decode(item, &share, err) < 0)
		return -1;
	if (find_place(share.mountpoint, &place, err) < 0)
		return error_prefix(err, "share \"%s\"", share.tag);
	if (mount_when_there(&share, &place, err) < 0)
		return -1;
	read_further_ahead(share.mountpoint);
	return note_mounted(mounted, &place, err);
}

typedef int mount_fn(json_t *item, struct mounted *mounted, struct error *err);

struct wanted {
	json_t *item;
	mount_fn *mount;
	size_t length; /* the length of the mount point's path in bytes */
	size_t at;     /* the number of the disk or share in the config; disks come first */
};

/* Compares two mounts for qsort(). Shorter paths of mount points come first. A mount point below
 * another one has the longer path, and must be mounted later. Otherwise the other mount would hide
 * it. Mounts with paths of the same length keep the order of the config. */
static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static void list_wanted(json_t *items, mount_fn *mount, struct wanted *list, size_t *count)
{
	json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		list[*count] = (struct wanted){item, mount,
					       strlen(json_text(item, "mountpoint", "")), *count};
		++*count;
	}
}

int attach_all(json_t *config, struct error *err)
{
	struct mounted mounted = {0};
	autofree struct wanted *list = NULL;
	json_t *disks = NULL, *shares = NULL;
	size_t count = 0;
	int status = 0;

	if (json_get_array(config, "", "disks", JSON_OPTIONAL, &disks, err) < 0 ||
	    json_get_array(config, "", "shares", JSON_OPTIONAL, &shares, err) < 0)
		return -1;
	list = calloc(json_array_size(disks) + json_array_size(shares) + 1, sizeof(*list));
	if (!list)
		return error_errno(err, ENOMEM, "mounts");
	list_wanted(disks, mount_disk, list, &count);
	list_wanted(shares, mount_share, list, &count);
	qsort(list, count, sizeof(*list), compare_wanted);
	for (size_t i = 0; i < count && status == 0; i++)
		status = list[i].mount(list[i].item, &mounted, err);
	if (status < 0)
		take_back(&mounted);
	for (size_t i = 0; i < mounted.count; i++)
		free(mounted.paths[i]);
	free(mounted.paths);
	if (status < 0)
		return -1;
	review_forget_unused();
	return network_apply(config, err);
}
