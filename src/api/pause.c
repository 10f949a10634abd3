/* SPDX-License-Identifier: MIT */
/*
 * Whether the machine in which a command runs is paused, told to who waits for the command. It is
 * in the workspace's event, which is replaced each time that there is a new one.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "api/pause.h"

#include "api/explain.h"
#include "base/cleanup.h"

/* Where no more watches are to be had the pause is not told, but found when a signal comes. */
static int pause_watch(const struct workspace *ws)
{
	autoclose int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", ws->fd);
	if (fd < 0 || inotify_add_watch(fd, path, IN_MOVED_TO | IN_ONLYDIR) < 0)
		return -1;
	return steal_fd(&fd);
}

void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams)
{
	*pause = (struct pause){.ws = ws, .streams = streams, .fd = pause_watch(ws)};
}

void pause_end(struct pause *pause)
{
	cleanup_close(&pause->fd);
}

static void pause_drain(int fd)
{
	char events[4096];

	while (fd >= 0 && read(fd, events, sizeof(events)) > 0)
		;
}

bool pause_look(void *data)
{
	struct pause *pause = data;
	struct error why = {.code = ERR_UNAVAILABLE};
	bool is;

	pause_drain(pause->fd);
	is = explain_paused(pause->ws, &why) < 0;
	if (is != pause->is && pause->streams->paused)
		pause->streams->paused(pause->streams->paused_data, is ? &why : NULL);
	pause->is = is;
	return is;
}
