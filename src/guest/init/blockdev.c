/* SPDX-License-Identifier: MIT */
#include "guest/init/blockdev.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/init/kernel_line.h"
#include "guest/init/uevent.h"

static bool serial_is(int block, const char *name, const char *serial)
{
	char path[300], text[64];

	snprintf(path, sizeof(path), "%s/serial", name);
	autoclose int fd = openat(block, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return false;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return strcmp(text, serial) == 0;
}

/*
 * Returns the position of the serial number, counted from 0, in the list of disks on the kernel's
 * command line. Returns -1 if the list does not have the serial number. The host adds this list, in
 * the order of the disks, if the VMM cannot give serial numbers to its disks (Firecracker,
 * Hyper-V).
 */
static int place_on_line(const char *serial)
{
	char list[1024], *rest = list;
	int place = 0;

	if (!kernel_line_value("microagent.disks=", list, sizeof(list)))
		return -1;
	for (char *found; (found = strsep(&rest, ",")); place++)
		if (strcmp(found, serial) == 0)
			return place;
	return -1;
}

/* Returns true if the disk `name` has the unit number `unit` on its SCSI controller. The host
 * chooses unit numbers, but a name such as "sda" depends on which disk the kernel finds first. The
 * link <name>/device leads to ".../<host>:<channel>:<target>:<unit>". */
static bool unit_is(int block, const char *name, int unit)
{
	char path[300], target[512];
	const char *last;
	char *end;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/device", name);
	n = readlinkat(block, path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	last = strrchr(target, ':');
	return last && last[1] && strtol(last + 1, &end, 10) == unit && !*end;
}

bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME])
{
	char path[256], virtio[] = "vda";
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/block", sys);
	autodir DIR *dir = opendir(path);
	virtio[2] = (char)('a' + place);
	if (dir && place < 26 && faccessat(dirfd(dir), virtio, F_OK, 0) == 0) {
		memcpy(name, virtio, sizeof(virtio));
		return true;
	}
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "sd", 2) != 0 ||
		    strlen(entry->d_name) >= BLOCKDEV_NAME ||
		    !unit_is(dirfd(dir), entry->d_name, place))
			continue;
		memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
		return true;
	}
	return false;
}

static bool find_disk(const char *sys, const char *serial, char name[BLOCKDEV_NAME])
{
	int place = place_on_line(serial);
	char path[256];
	struct dirent *entry;

	if (place >= 0)
		return blockdev_at(sys, place, name);
	snprintf(path, sizeof(path), "%s/block", sys);
	autodir DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= BLOCKDEV_NAME)
			continue;
		if (serial_is(dirfd(dir), entry->d_name, serial)) {
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
			return true;
		}
	}
	return false;
}

int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err)
{
	struct error why = {0};

	/* The disk is nearly always present already, so the code looks for it before it opens a
	 * socket for events. */
	if (find_disk(sys, serial, name))
		return 0;
	autoclose int events = uevent_open(err);
	if (events < 0)
		return -1;
	for (;;) {
		/* Looks for the disk again, since it may have appeared before the socket was
		 * opened. */
		if (find_disk(sys, serial, name))
			return 0;
		if (uevent_wait(events, deadline_ns, &why) == 0)
			continue;
		if (why.code == ERR_TIMEOUT)
			return error_set(
				err, ERR_NOT_FOUND,
				"no disk of the machine has the serial \"%s\" that its config names: this is a bug, or the guest's kernel lacks the driver of the disk",
				serial);
		return error_set(err, why.code, "%.500s", why.msg);
	}
}
