/* SPDX-License-Identifier: MIT */
#ifndef API_PAUSE_H
#define API_PAUSE_H

#include "microagent.h"
#include "store/store.h"

struct pause {
	const struct workspace *ws;
	const struct microagent_streams *streams;
	int fd;	 /* a descriptor that is readable when there may be a new event; -1: events are not
		  * watched */
	bool is; /* the result of the last pause_look(): whether the machine was paused */
};

/* Begins to watch for pauses. `ws` and `streams` are borrowed until pause_end(). */
void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams);
void pause_end(struct pause *pause);
/* Functions for the members of struct pump_guest; `data` is the struct pause. pause_look() is for
 * the member is_paused: it returns whether the machine is paused, and calls streams->paused if this
 * has changed. pause_watch() is for the member watch_pauses. */
bool pause_look(void *data);
int pause_watch(void *data);

#endif
