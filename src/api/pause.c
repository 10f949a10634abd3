/* SPDX-License-Identifier: MIT */
/*
 * Tells a caller that waits for a command whether the command's machine is paused. The last event
 * of the workspace says whether it is paused. The watch notices a new event, because each event
 * replaces the file event.json.
 */
#include <unistd.h>

#include "api/pause.h"

#include "api/explain.h"
#include "base/cleanup.h"
#include "base/platform/dir_watch.h"

/* Begins to watch for new events, and returns the descriptor of the watch. Returns -1 if the
 * operating system allows no more watches. In that case, a pause is noticed only when a signal
 * arrives. */
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
