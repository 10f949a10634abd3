/* SPDX-License-Identifier: MIT */
/*
 * Whether the workspace's directory is still there. Who removes it by hand while its machine runs
 * (rm -r) takes away everything by which a command could find that machine and end it, so it ends
 * with its directory. The open descriptor tells: a directory without a name has no links.
 */
#include <sys/stat.h>

#include "base/clock.h"
#include "base/limits.h"
#include "supervisor/live/live.h"

static void on_directory_look(struct loop *loop, void *data)
{
	struct live *live = data;
	struct stat st;

	(void)loop;
	if (fstat(live->ws.fd, &st) < 0 || st.st_nlink > 0)
		return;
	loop_remove(live->directory_timer);
	live->directory_timer = NULL;
	live_fail(live, ERR_IO, "the workspace's directory was removed while the machine ran");
}

int live_directory_begin(struct live *live, struct error *err)
{
	live->directory_timer =
		loop_add_interval(live->loop, limit_get(LIMIT_DIRECTORY_LOOK_MS) * NS_PER_MS,
				  on_directory_look, live, err);
	return live->directory_timer ? 0 : -1;
}
