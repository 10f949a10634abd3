/* SPDX-License-Identifier: MIT */
#ifndef API_PAUSE_H
#define API_PAUSE_H

#include "microagent.h"
#include "store/store.h"

struct pause {
	const struct workspace *ws;
	const struct microagent_streams *streams;
	int fd;	 /* readable: there may be a new event; -1: it is not watched for */
	bool is; /* as it was told last */
};

/* Both are borrowed until pause_end(). */
void pause_begin(struct pause *pause, const struct workspace *ws,
		 const struct microagent_streams *streams);
void pause_end(struct pause *pause);
/* data is the struct pause: as pump_guest.is_paused, which tells the streams' owner of a change,
 * and as pump_guest.watch_pauses. */
bool pause_look(void *data);
int pause_watch(void *data);

#endif
