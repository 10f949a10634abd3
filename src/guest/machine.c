/* SPDX-License-Identifier: MIT */
/* What the agent does to its machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/path.h"
#include "guest/agent.h"
#include "guest/blockdev.h"
#include "guest/console.h"
#include "guest/publish.h"
#include "guest/roles.h"

/* Smaller steps do more harm to what measures time than they mend. */
#define DRIFT_NS ((int64_t)(100 * NS_PER_MS))

static int set_hostname(const char *name, struct error *err)
{
	if (sethostname(name, strlen(name)) < 0)
		return error_errno(err, errno, "cannot set the host name");
	return 0;
}

static void set_time(int64_t realtime_ns)
{
	struct timespec t = {
		.tv_sec = realtime_ns / (int64_t)NS_PER_S,
		.tv_nsec = realtime_ns % (int64_t)NS_PER_S,
	};

	if (llabs(realtime_ns - clock_real_ns()) > DRIFT_NS &&
	    clock_settime(CLOCK_REALTIME, &t) < 0)
		console_line("cannot set the clock: %s", strerror(errno));
}

static int mount_disk(json_t *item, struct error *err)
{
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_ROOT_DISK_MS) * NS_PER_MS;
	char name[BLOCKDEV_NAME], path[BLOCKDEV_NAME + 8];
	struct config_disk disk;
	unsigned long flags = MS_NOSUID | MS_NODEV;

	if (config_disk_decode(item, &disk, err) < 0)
		return -1;
	if (blockdev_find("/sys", disk.serial, deadline, name, err) < 0 ||
	    path_make_dirs(disk.mountpoint, 0755, err) < 0)
		return error_prefix(err, "disk \"%s\"", disk.name);
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (mount(path, disk.mountpoint, "ext4", flags | (disk.read_only ? MS_RDONLY : 0),
		  disk.read_only ? "noload" : NULL) < 0)
		return error_errno(err, errno, "cannot mount the disk \"%s\" as ext4 on %s",
				   disk.name, disk.mountpoint);
	return 0;
}

static int mount_disks(json_t *disks, struct error *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(disks, i, item) if (mount_disk(item, err) < 0) return -1;
	return 0;
}

static void ask_for_power_off(void *data)
{
	const int *init_fd = data;
	char byte = INIT_POWER_OFF;

	if (send(*init_fd, &byte, 1, MSG_NOSIGNAL) < 0)
		console_line("PID 1 cannot be asked for the end: %s", strerror(errno));
}

static void log_text(const char *text)
{
	console_line("%s", text);
}

const struct machine machine_real = {
	.set_hostname = set_hostname,
	.set_time = set_time,
	.mount_disks = mount_disks,
	.publish = publish_start,
	.power_off = ask_for_power_off,
	.log = log_text,
};
