/* SPDX-License-Identifier: MIT */
#ifndef API_PAUSE_H
#define API_PAUSE_H

#include "microagent.h"
#include "store/store.h"

struct pause {
	const struct workspace *ws;
	const struct microagent_streams *streams;
	int fd;	 /* a descriptor that is readable if there may be a new event; -1: there is no watch
		  * for events */
	bool is; /* the last result of pause_look(): true if the machine was paused */
};

/* Begins to watch for pauses. The caller must keep `ws` and `streams` until pause_end(). */
void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams);
void pause_end(struct pause *pause);
/* Functions for struct pump_guest; `data` is a struct pause. pause_look() is for its member
 * is_paused: it returns true if the machine is paused, and calls streams->paused if this has
 * changed. pause_watch() is for its member watch_pauses. */
bool pause_look(void *data);
int pause_watch(void *data);

#endif
