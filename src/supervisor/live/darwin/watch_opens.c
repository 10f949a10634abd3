/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_opens.h"

#include <stddef.h>

struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err)
{
	(void)loop, (void)dir, (void)fn, (void)data;
	error_set(
		err, ERR_UNSUPPORTED,
		"macOS reports who opens a file only to clients of Endpoint Security, which Apple must approve");
	return NULL;
}

void watch_opens_look(struct watch_opens *watch)
{
	(void)watch;
}

void watch_opens_free(struct watch_opens *watch)
{
	(void)watch;
}
