/* SPDX-License-Identifier: MIT */
/* Watches directories by inotify. */
#include "base/platform/dir_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct {
	enum dir_watch_event event;
	uint32_t mask;
} watch_masks[] = {
	{DIR_WATCH_MADE, IN_CREATE},	   {DIR_WATCH_MOVED_IN, IN_MOVED_TO},
	{DIR_WATCH_REMOVED, IN_DELETE},	   {DIR_WATCH_WRITTEN, IN_MODIFY | IN_CLOSE_WRITE},
	{DIR_WATCH_ATTRIBUTES, IN_ATTRIB}, {DIR_WATCH_GONE, IN_DELETE_SELF},
};

int dir_watch_open(void)
{
	return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

int dir_watch_add(int watch, int dirfd, const char *name, unsigned events)
{
	uint32_t mask = IN_ONLYDIR;
	char path[4096];
	int n = dirfd == AT_FDCWD || *name == '/'
			? snprintf(path, sizeof(path), "%s", name)
			: snprintf(path, sizeof(path), "/proc/thread-self/fd/%d/%s", dirfd, name);

	for (size_t i = 0; i < ARRAY_SIZE(watch_masks); i++)
		if (events & watch_masks[i].event)
			mask |= watch_masks[i].mask;
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return inotify_add_watch(watch, path, mask);
}

bool dir_watch_take(int watch, dir_watch_fn *fn, void *data)
{
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;
	ssize_t got;

	while ((got = read(watch, bytes, sizeof(bytes))) > 0) {
		any = true;
		for (const char *p = bytes; fn && p < bytes + got;) {
			const struct inotify_event *event = (const void *)p;

			fn(event->wd, data);
			p += sizeof(*event) + event->len;
		}
	}
	return any;
}

void dir_watch_close(int watch)
{
	if (watch >= 0)
		close(watch);
}
