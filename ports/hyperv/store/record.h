/* SPDX-License-Identifier: MIT */
/* The record of the workspace that a request names. */
#ifndef HYPERV_RECORD_H
#define HYPERV_RECORD_H

#include "contract/request.h"
#include "hyperv/store/store.h"

struct record {
	/* The identity, which is a part of each event. The caller of record_begin() or
	 * record_open() must keep it valid. */
	const json_t *identity;
	const char *id, *state_dir;
	struct store store;
	enum state state;
	json_t *event; /* the latest event; NULL: no event is recorded */
};

/* Opens, locks and loads the record. If the live supervisor has died before it recorded the end of
 * its machine, records that end. If `create` is true, creates a missing state directory. `request`
 * must stay valid until record_end(). */
int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err);
/* Opens the record for the live supervisor, which has no request. Does not lock or load the
 * record. */
int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err);
int record_load(struct record *record, struct error *err);
/* If the record says that the machine runs, but the machine's live supervisor has exited, records
 * the state `failed`. The machine has ended together with the live supervisor. The record must be
 * locked and loaded. */
int record_settle(struct record *record, struct error *err);
void record_end(struct record *record); /* accepts a zeroed record */

/* Returns the name in HCS of the machine that was started last, or NULL if no machine was started.
 * The caller frees the name. The pipe with this name exists as long as the machine's live
 * supervisor runs (keeper/pipe.h). */
char *record_system_id(const struct record *record);
/* Checks that the recorded state allows the command. Fails with ERR_CONFLICT if the state does not
 * allow it, and with ERR_NOT_FOUND if there is no workspace. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records a state with the text `detail`. NULL and "" mean that there is no such text. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns the latest event. If no event is recorded, returns an event with the state unknown. The
 * caller releases the result. */
json_t *record_event(const struct record *record, struct error *err);
/* Returns an event with the time of this call, but does not record the event. The caller releases
 * the result. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);

#endif
