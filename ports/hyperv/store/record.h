/* SPDX-License-Identifier: MIT */
/* The record of the workspace to which a request refers. */
#ifndef HYPERV_RECORD_H
#define HYPERV_RECORD_H

#include "contract/request.h"
#include "hyperv/store/store.h"

struct record {
	/* the identity, which is a part of each event; it belongs to the caller of
	 * record_begin() */
	const json_t *identity;
	const char *id, *state_dir;
	struct store store;
	enum state state;
	json_t *event; /* the latest event; NULL: no event is recorded */
};

/* Opens, locks and loads the record. If a keeper has died before it recorded the end of its
 * machine, records that end. If `create` is true and the state directory is missing, makes it.
 * `request` must stay valid until record_end(). */
int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err);
/* Opens the record for a keeper, which has no request. Does not lock or load it. */
int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err);
int record_load(struct record *record, struct error *err);
/* Records `failed` if a machine lives according to the record, but its keeper has ended. The
 * machine has then ended too. The record must be locked and loaded. */
int record_settle(struct record *record, struct error *err);
void record_end(struct record *record); /* accepts a zeroed record */

/* Returns the name that the last started machine has in HCS; NULL if no machine was started. The
 * caller frees it. The workspace is alive as long as the pipe of its keeper exists
 * (keeper/pipe.h). */
char *record_system_id(const struct record *record);
/* Checks that the state allows the command. ERR_CONFLICT: the state does not allow the command.
 * ERR_NOT_FOUND: there is no workspace. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records a state with a detail. NULL and "" mean that there is no detail. */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* Returns the latest event. If no event is recorded, returns an event that tells this. The caller
 * releases it. */
json_t *record_event(const struct record *record, struct error *err);
/* Returns an event with the time of this call, without recording it. The caller releases it. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);

#endif
