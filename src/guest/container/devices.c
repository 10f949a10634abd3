/* SPDX-License-Identifier: MIT */
/* Creates the devices and links of a container's /dev. The list is from the OCI runtime
 * specification (Default Devices, Dev symbolic links). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/container/place.h"
#include "guest/container/setup.h"

static const struct {
	const char *name;
	unsigned major, minor;
} devices[] = {
	{"null", 1, 3}, {"zero", 1, 5},	  {"full", 1, 7},
	{"tty", 5, 0},	{"random", 1, 8}, {"urandom", 1, 9},
};

static const char *const links[][2] = {
	{"pts/ptmx", "ptmx"},	       {"/proc/self/fd", "fd"},	      {"/proc/self/fd/0", "stdin"},
	{"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
};

/* Bind mounts the guest's device on `name`, for a root in which no device node can be created, for
 * example a root that the host serves. */
static int bind_device(int dev, const char *name, struct error *err)
{
	autoclose int file = place_make(dev, name, true, err);
	char from[32], to[PLACE_NAME];

	if (file < 0)
		return -1;
	snprintf(from, sizeof(from), "/dev/%s", name);
	place_name(file, to);
	return mount(from, to, NULL, MS_BIND, NULL) == 0 ? 0 : error_errno(err, errno, "%s", from);
}

int devices_make(int root, struct error *err)
{
	autoclose int place = place_make(root, "/dev", false, err);
	autoclose int dev = place < 0 ? -1 : openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dev < 0)
		return place < 0 ? -1 : error_errno(err, errno, "/dev");
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		dev_t number = makedev(devices[i].major, devices[i].minor);
		const char *name = devices[i].name;

		if (mknodat(dev, name, S_IFCHR | 0666, number) == 0) {
			if (fchmodat(dev, name, 0666, 0) < 0)
				return error_errno(err, errno, "/dev/%s", name);
		} else if (errno != EEXIST && bind_device(dev, name, err) < 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0 && errno != EEXIST &&
		    errno != EROFS)
			return error_errno(err, errno, "/dev/%s", links[i][1]);
	return 0;
}

int devices_console(int terminal, struct error *err)
{
	autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int console = root < 0 ? -1 : place_make(root, "/dev/console", true, err);
	char from[PLACE_NAME], to[PLACE_NAME];

	if (console < 0)
		return root < 0 ? error_errno(err, errno, "/") : -1;
	place_name(terminal, from);
	place_name(console, to);
	return mount(from, to, NULL, MS_BIND, NULL) == 0 ? 0
							 : error_errno(err, errno, "/dev/console");
}
