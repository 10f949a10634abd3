/* SPDX-License-Identifier: MIT */
#include "guest/machine/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "guest/agent/config.h"
#include "guest/init/blockdev.h"
#include "guest/init/uevent.h"
#include "guest/machine/network.h"

/* Nothing that comes from outside brings rights or devices with it. */
#define FLAGS (MS_NOSUID | MS_NODEV)

static int mount_disk(json_t *item, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	char name[BLOCKDEV_NAME], path[BLOCKDEV_NAME + 8];
	struct config_disk disk;

	if (config_disk_decode(item, &disk, err) < 0)
		return -1;
	if (blockdev_find("/sys", disk.serial, deadline, name, err) < 0 ||
	    path_make_dirs(disk.mountpoint, 0755, err) < 0)
		return error_prefix(err, "disk \"%s\"", disk.name);
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (mount(path, disk.mountpoint, "ext4", FLAGS | (disk.read_only ? MS_RDONLY : 0),
		  disk.read_only ? "noload" : NULL) < 0)
		return error_errno(err, errno, "cannot mount the disk \"%s\" as ext4 on %s",
				   disk.name, disk.mountpoint);
	return 0;
}

static bool share_is_mounted(const struct config_share *share)
{
	return mount(share->tag, share->mountpoint, "virtiofs",
		     FLAGS | (share->read_only ? MS_RDONLY : 0), NULL) == 0;
}

/* A device that was just plugged in may take a moment; until then its tag is an invalid argument.
 */
static int mount_when_there(const struct config_share *share, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	struct error late;

	/* Nearly always it is there already, and then no socket is needed. */
	if (share_is_mounted(share))
		return 0;
	autoclose int events = uevent_open(err);
	if (events < 0)
		return -1;
	while (!share_is_mounted(share)) {
		int why = errno;

		if (why != EINVAL || uevent_wait(events, deadline, &late) < 0)
			return error_errno(err, why, "cannot mount the share \"%s\" on %s",
					   share->tag, share->mountpoint);
	}
	return 0;
}

static int mount_share(json_t *item, struct error *err)
{
	struct config_share share;

	if (config_share_decode(item, &share, err) < 0)
		return -1;
	if (path_make_dirs(share.mountpoint, 0755, err) < 0)
		return error_prefix(err, "share \"%s\"", share.tag);
	return mount_when_there(&share, err);
}

static int each(json_t *config, const char *key, int (*fn)(json_t *item, struct error *err),
		struct error *err)
{
	json_t *list = NULL, *item;
	size_t i;

	if (json_get_array(config, "", key, JSON_OPTIONAL, &list, err) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		if (fn(item, err) < 0)
			return -1;
	}
	return 0;
}

int attach_all(json_t *config, struct error *err)
{
	if (each(config, "disks", mount_disk, err) < 0 ||
	    each(config, "shares", mount_share, err) < 0)
		return -1;
	return network_apply(config, err);
}
