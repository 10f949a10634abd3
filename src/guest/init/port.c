/* SPDX-License-Identifier: MIT */
#include "guest/init/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/init/uevent.h"

#define PORTS "/sys/class/virtio-ports"
#define WAIT_NS (10 * NS_PER_S)

/* Returns true if the device is the port to the host. The file `name` of a port in sysfs has the
 * port's name and a newline. */
static bool is_ours(const char *device)
{
	/* sizeof(PORT_NAME) counts a NUL. The file has a newline instead, so `name` has the right
	 * size. */
	char path[sizeof(PORTS) + 300], name[sizeof(PORT_NAME)];
	ssize_t n;

	snprintf(path, sizeof(path), PORTS "/%s/name", device);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof(name));
	return n == (ssize_t)sizeof(name) && memcmp(name, PORT_NAME "\n", sizeof(name)) == 0;
}

static int try_ports(void)
{
	char path[sizeof("/dev/") + 300];
	const struct dirent *e;
	DIR *dir = opendir(PORTS);
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir))) {
		if (!is_ours(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

int port_open(struct error *err)
{
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	autoclose int events = uevent_open(err);
	int fd;

	if (events < 0)
		return -1;
	while ((fd = try_ports()) < 0)
		if (uevent_wait(events, deadline, err) < 0)
			return error_prefix(
				err,
				"the virtio port by which the guest reaches its host did not appear in the guest");
	return fd;
}
