/* SPDX-License-Identifier: MIT */
/* A machine that was restored gives its memory, as it was, to those that are restored after it. */
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/inputs/template_siblings.h"
#include "supervisor/live/live.h"

static void on_sibling(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct live *live = data;

	(void)loop, (void)events;
	if (template_memory_give(fd, LIVE_RAM) < 0)
		live_siblings_end(live);
}

int live_siblings_begin(struct live *live, struct error *err)
{
	if (!ticket_has(&live->ticket, LIVE_SIBLINGS))
		return 0;
	live->siblings = loop_add_fd(live->loop, LIVE_SIBLINGS, LOOP_IN, on_sibling, live, err);
	return live->siblings ? 0 : -1;
}

void live_siblings_end(struct live *live)
{
	if (!live->siblings)
		return;
	loop_remove(steal_ptr(&live->siblings));
	close(LIVE_SIBLINGS);
}
