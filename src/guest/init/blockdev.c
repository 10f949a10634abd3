/* SPDX-License-Identifier: MIT */
#include "guest/init/blockdev.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
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

static bool find_by_serial(const char *sys, const char *serial, char name[BLOCKDEV_NAME])
{
	char path[256];
	struct dirent *entry;

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

/* The last part of where <name>/device leads to, for a disk of SCSI: host:channel:target:LUN. */
static bool has_lun(int block, const char *name, int lun)
{
	char path[300], device[256], *last;
	int found;

	snprintf(path, sizeof(path), "%s/device", name);
	ssize_t n = readlinkat(block, path, device, sizeof(device) - 1);
	if (n < 0)
		return false;
	device[n] = '\0';
	last = strrchr(device, '/');
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own text */
	return sscanf(last ? last + 1 : device, "%*d:%*d:%*d:%d", &found) == 1 && found == lun;
}

static bool find_by_lun(const char *sys, int lun, char name[BLOCKDEV_NAME])
{
	char path[256];
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/block", sys);
	autodir DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strlen(entry->d_name) < BLOCKDEV_NAME &&
		    has_lun(dirfd(dir), entry->d_name, lun)) {
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
			return true;
		}
	return false;
}

bool blockdev_at_place(const char *sys, int place, char name[BLOCKDEV_NAME])
{
	char path[256], vd[BLOCKDEV_NAME];

	snprintf(vd, sizeof(vd), "vd%c", 'a' + place);
	snprintf(path, sizeof(path), "%s/block/%s", sys, vd);
	if (access(path, F_OK) < 0)
		return find_by_lun(sys, place, name);
	memcpy(name, vd, sizeof(vd));
	return true;
}

/*
 * A VMM that cannot give disks our serials (Firecracker, Hyper-V) has their names on the kernel's
 * command line in the order in which it has them. -1: it says nothing of this one.
 */
static int told_place(const char *serial)
{
	char list[1024], *rest = list;
	int place = 0;

	if (!kernel_line_value("microagent.disks=", list, sizeof(list)))
		return -1;
	for (char *found; (found = strsep(&rest, ",")); place++)
		if (strcmp(found, serial) == 0 && place < 26)
			return place;
	return -1;
}

static bool find_disk(const char *sys, const char *serial, char name[BLOCKDEV_NAME])
{
	int place = told_place(serial);

	return place < 0 ? find_by_serial(sys, serial, name) : blockdev_at_place(sys, place, name);
}

int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err)
{
	struct error why = {0};

	/* Nearly always it is there already, and then no socket is needed. */
	if (find_disk(sys, serial, name))
		return 0;
	autoclose int events = uevent_open(err);
	if (events < 0)
		return -1;
	for (;;) {
		/* Looked at after the socket is there, or the device could come in between. */
		if (find_disk(sys, serial, name))
			return 0;
		if (uevent_wait(events, deadline_ns, &why) == 0)
			continue;
		if (why.code == ERR_TIMEOUT)
			return error_set(err, ERR_NOT_FOUND, "no disk with the serial \"%s\"",
					 serial);
		return error_set(err, why.code, "%.500s", why.msg);
	}
}
