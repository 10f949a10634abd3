/* SPDX-License-Identifier: MIT */
/*
 * A workspace as a command sees it: its directory, the command lock, its recorded state. While the
 * lease is held the live supervisor alone records events; commands do so under the lock and only
 * while the lease is free.
 */
#ifndef SUPERVISOR_RECORD_H
#define SUPERVISOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "contract/state.h"
#include "store/store.h"
#include "supervisor/supervisor.h"

struct record {
	const struct call *call;
	struct state_dir dir; /* fd -1: it does not exist */
	struct workspace ws;  /* fd -1: it does not exist */
	int lock;	      /* -1: not held */
	bool creates;	      /* the command may make the workspace */
	enum state state;
	json_t *event; /* the latest, or NULL */
};
#define RECORD_NONE                                             \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .lock = -1 \
	}

/* create: of the state directory; the workspace's own is made by record_create(). An absent state
 * directory or workspace is success, with descriptors of -1. record must not move afterwards. */
int record_open(struct record *record, const struct call *call, bool create, struct error *err);
void record_close(struct record *record); /* accepts RECORD_NONE; gives the lock back */

/* Takes the command lock unless it is held, opens the workspace anew (it may have gone or come) and
 * says nothing of its state. Where there is neither a workspace nor any lock, and the command makes
 * none, there is nothing to lock: the state directory stays as it is. */
int record_lock(struct record *record, struct error *err);
/* The lock's file goes if the workspace is not there (any more). */
void record_unlock(struct record *record);
/* Reads state and event. */
int record_load(struct record *record, struct error *err);
/* Makes the workspace's directory if it is not there. Under the lock. */
int record_create(struct record *record, struct error *err);

/* ERR_CONFLICT (ERR_NOT_FOUND for a workspace that is not there) when the table does not allow the
 * command in the recorded state. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records an event with the request's identity and makes it the record's own. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* An event that is answered and not recorded. NULL without memory. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);
/* The event to answer with: the latest, or an unrecorded `unknown`. A new reference. */
json_t *record_event(const struct record *record, struct error *err);

#endif
