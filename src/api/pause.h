/* SPDX-License-Identifier: MIT */
#ifndef API_PAUSE_H
#define API_PAUSE_H

#include "microagent.h"
#include "store/store.h"

struct pause {
	const struct workspace *ws;
	const struct microagent_streams *streams;
	int fd;	 /* readable: there may be a new event; -1: events are not watched */
	bool is; /* whether the machine is paused, as it was told last */
};

/* Begins to watch for pauses. ws and streams are borrowed until pause_end(). */
void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams);
void pause_end(struct pause *pause);
/* Functions for pump_guest.is_paused, which tells the streams' owner of a change, and for
 * pump_guest.watch_pauses. data is the struct pause. */
bool pause_look(void *data);
int pause_watch(void *data);

#endif
