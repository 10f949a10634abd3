/* SPDX-License-Identifier: MIT */
/*
 * A workspace as a command sees it: its directory, the command lock, its recorded state. While the
 * lease is held, only the live supervisor records events. Commands record events under the lock,
 * and only while the lease is free.
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

/* Opens the record. create: whether to make the state directory if it does not exist;
 * record_create() makes the workspace's directory. An absent state directory or workspace is a
 * success, with descriptors of -1. record must stay at its address afterwards. */
int record_open(struct record *record, const struct call *call, bool create, struct error *err);
void record_close(struct record *record); /* accepts RECORD_NONE; unlocks */

/* Takes the command lock unless it is held, and opens the workspace anew, since the workspace may
 * have gone or come. Says nothing about its state. If there is no workspace and no lock, and the
 * command does not make a workspace, then there is nothing to lock, and the state directory stays
 * as it is. */
int record_lock(struct record *record, struct error *err);
/* Gives the lock back. Removes the lock's file if the workspace does not exist. */
void record_unlock(struct record *record);
/* Reads the recorded state and the latest event. */
int record_load(struct record *record, struct error *err);
/* Makes the workspace's directory if it does not exist. Called under the lock. */
int record_create(struct record *record, struct error *err);

/* Returns 0 if the table allows the command in the recorded state; otherwise ERR_CONFLICT, or
 * ERR_NOT_FOUND for a workspace that does not exist. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records an event with the request's identity and makes it the latest event of the record. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns an event for the answer that is not recorded. Returns NULL if there is no memory. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);
/* Returns the event for the answer as a new reference: the latest one, or an unrecorded
 * `unknown`. */
json_t *record_event(const struct record *record, struct error *err);

#endif
