/* SPDX-License-Identifier: MIT */
/*
 * Tells a waiting caller whether the machine of its command is paused. The last event of the
 * workspace says whether the machine is paused. A new event replaces the file event.json.
 */
#include <unistd.h>

#include "api/pause.h"

#include "api/explain.h"
#include "base/cleanup.h"
#include "base/platform/dir_watch.h"

/* Begins to watch for new events, and returns the descriptor of the watch. Returns -1 if the system
 * has no more watches: a pause is then noticed only when a signal arrives. */
int pause_watch(void *data)
{
	struct pause *pause = data;
	autowatch int fd = dir_watch_open();

	if (fd >= 0 && dir_watch_add(fd, pause->ws->fd, ".", DIR_WATCH_MOVED_IN) >= 0)
		pause->fd = steal_fd(&fd);
	return pause->fd;
}

void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams)
{
	*pause = (struct pause){.ws = ws, .streams = streams, .fd = -1};
}

void pause_end(struct pause *pause)
{
	dir_watch_close(pause->fd);
}

bool pause_look(void *data)
{
	struct pause *pause = data;
	struct error why = {.code = ERR_UNAVAILABLE};
	bool is;

	if (pause->fd >= 0)
		(void)dir_watch_take(pause->fd, NULL, NULL);
	is = explain_paused(pause->ws, &why) < 0;
	if (is != pause->is && pause->streams->paused)
		pause->streams->paused(pause->streams->paused_data, is ? &why : NULL);
	pause->is = is;
	return is;
}
