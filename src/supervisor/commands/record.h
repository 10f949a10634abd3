/* SPDX-License-Identifier: MIT */
/*
 * A workspace as a command sees it: its directory, the command lock, and its recorded state. While
 * the lease is held, only the live supervisor records events. A command records events only under
 * the command lock, and only while no process holds the lease.
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
	struct state_dir dir; /* the state directory; its fd is -1 if the directory does not
			       * exist */
	struct workspace ws;  /* the workspace; its fd is -1 if the workspace does not exist */
	int lock;	      /* the descriptor of the command lock; -1: the lock is not held */
	bool creates;	      /* the command may make the workspace */
	enum state state;
	json_t *event; /* the latest recorded event; NULL: there is none */
};
#define RECORD_NONE                                             \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .lock = -1 \
	}

/* Opens the record. If `create` is true, the command may make the workspace: a missing state
 * directory is made now, and record_create() makes the workspace's directory later. If the state
 * directory or the workspace does not exist, the function still succeeds, and sets dir.fd or ws.fd
 * to -1. The struct must not be moved afterwards. */
int record_open(struct record *record, const struct call *call, bool create, struct error *err);
void record_close(struct record *record); /* closes the record and releases the command lock;
					   * accepts RECORD_NONE */

/* Takes the command lock, unless this record holds it already. Opens the workspace again, since it
 * may have been removed or made meanwhile. Does not load the state. Takes no lock, and does not
 * change the state directory, if the workspace does not exist, the command does not make
 * workspaces, and the state directory has no directory of locks. */
int record_lock(struct record *record, struct error *err);
/* Releases the command lock. Removes the lock's file if the workspace does not exist. */
void record_unlock(struct record *record);
/* Reads the recorded state and the latest event. */
int record_load(struct record *record, struct error *err);
/* Makes the workspace's directory if it does not exist. Called under the command lock. */
int record_create(struct record *record, struct error *err);

/* Checks that the table of commands allows the command in the recorded state. ERR_CONFLICT: the
 * table does not allow the command. ERR_NOT_FOUND: the workspace does not exist. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records an event with the identity of the request, and stores the event in record->event. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns an event for the answer, and does not record it. The caller releases the event. Returns
 * NULL with an error if there is no memory. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);
/* Returns the event for the answer. The result is the latest event or, if there is none, an event
 * of the state `unknown` that is not recorded. The caller releases the event. */
json_t *record_event(const struct record *record, struct error *err);

#endif
