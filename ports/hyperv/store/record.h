/* SPDX-License-Identifier: MIT */
/* The record of the workspace that a request is about. */
#ifndef HYPERV_RECORD_H
#define HYPERV_RECORD_H

#include "contract/request.h"
#include "hyperv/store/store.h"

struct record {
	const json_t *identity; /* a part of each event; the caller keeps it */
	const char *id, *state_dir;
	struct store store;
	enum state state;
	json_t *event; /* the latest event; NULL: no event is recorded */
};

/* Opens, locks and loads the record. If a keeper has died before it recorded the end of its
 * machine, this function records the end. If `create` is true, the state directory is made if it is
 * missing. `request` must stay valid until record_end(). */
int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err);
/* Opens the record for a keeper, which has no request. The record is neither locked nor loaded. */
int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err);
int record_load(struct record *record, struct error *err);
/* Records `failed` if the record says that the machine lives, but its keeper has ended: the machine
 * has then ended too. The record must be locked and loaded. */
int record_settle(struct record *record, struct error *err);
void record_end(struct record *record); /* accepts a zeroed record that was not begun */

/* Returns the name in HCS of the machine that was started last, which the caller frees; NULL if
 * none was started. The workspace is alive as long as the pipe of its keeper exists
 * (keeper/pipe.h). */
char *record_system_id(const struct record *record);
/* Checks that the state allows the command. ERR_CONFLICT: the state does not allow the command.
 * ERR_NOT_FOUND: there is no workspace. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records a state with a detail; NULL or "" means no detail. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns the latest event, or an event that says that nothing is recorded. The caller releases
 * it. */
json_t *record_event(const struct record *record, struct error *err);
/* Returns an event with the present time, and does not record it. The caller releases it. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);

#endif
