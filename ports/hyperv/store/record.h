/* SPDX-License-Identifier: MIT */
/* The record of the workspace that a request is about. */
#ifndef HYPERV_RECORD_H
#define HYPERV_RECORD_H

#include "contract/request.h"
#include "hyperv/store/store.h"

struct record {
	const json_t *identity; /* part of each event; borrowed */
	const char *id, *state_dir;
	struct store store;
	enum state state;
	json_t *event; /* the latest; NULL: no event is recorded */
};

/* Opens, locks and loads the record. If a keeper has died without recording its end, that end is
 * recorded now. With create, the state directory is made if it is missing. request is borrowed. */
int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err);
/* Opens the record for a keeper, which has no request. The record is neither locked nor loaded. */
int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err);
int record_load(struct record *record, struct error *err);
/* Records `failed` if a machine should be alive and its keeper has ended, because the machine has
 * ended with its keeper. The record must be locked and loaded. */
int record_settle(struct record *record, struct error *err);
void record_end(struct record *record); /* accepts a zeroed record that was not begun */

/* Returns the HCS name of the machine that was started last, malloc'd; NULL if none was started.
 * The workspace is alive as long as the pipe of its keeper exists (keeper/pipe.h). */
char *record_system_id(const struct record *record);
/* Returns 0 if the state allows the command; -1 with ERR_CONFLICT or ERR_NOT_FOUND if not. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records a state with a detail; NULL or "" means no detail. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns the latest event, or an event that says that nothing is recorded; a new reference. */
json_t *record_event(const struct record *record, struct error *err);
/* Returns an event with the present time, without recording it; a new reference. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);

#endif
