/* SPDX-License-Identifier: MIT */
/*
 * Detects that the power key of a keyboard was pressed. An arm64 machine without firmware has no
 * ACPI, so it has no ACPI power button. The host then uses a key of a virtio keyboard, which QEMU
 * can press. Virtualization.framework can only press a button on a GPIO line, which the kernels of
 * cloud images do not support.
 */
#include "guest/init/power_key.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

static bool has_power_key(int fd)
{
	uint8_t keys[KEY_CNT / 8] = {0};

	return ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(keys)), keys) >= 0 &&
	       (keys[KEY_POWER / 8] >> (KEY_POWER % 8) & 1);
}

size_t power_keys_open(const char *dir, int fds[POWER_KEYS])
{
	autodir DIR *nodes = opendir(dir);
	const struct dirent *node;
	size_t count = 0;

	while (nodes && count < POWER_KEYS && (node = readdir(nodes)) != NULL) {
		autoclose int fd = -1;

		if (strncmp(node->d_name, "event", 5) != 0)
			continue;
		fd = openat(dirfd(nodes), node->d_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && has_power_key(fd))
			fds[count++] = steal_fd(&fd);
	}
	return count;
}

bool power_key_parse(const void *events, size_t len)
{
	const uint8_t *at = events;
	struct input_event event;

	for (; len >= sizeof(event); at += sizeof(event), len -= sizeof(event)) {
		memcpy(&event, at, sizeof(event));
		if (event.type == EV_KEY && event.code == KEY_POWER && event.value == 1)
			return true;
	}
	return false;
}

int power_key_pressed(int fd)
{
	struct input_event events[64];
	bool pressed = false;
	ssize_t n;

	while ((n = read(fd, events, sizeof(events))) > 0)
		if (power_key_parse(events, (size_t)n))
			pressed = true;
	if (pressed)
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}
