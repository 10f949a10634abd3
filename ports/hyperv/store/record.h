/* SPDX-License-Identifier: MIT */
/* What is recorded of the workspace that a request is about. */
#ifndef HYPERV_RECORD_H
#define HYPERV_RECORD_H

#include "contract/request.h"
#include "hyperv/store/store.h"

struct record {
	const json_t *identity; /* goes into events; borrowed */
	const char *id, *state_dir;
	struct store store;
	enum state state;
	json_t *event; /* the latest; NULL: nothing is recorded */
};

/* Opens and locks; create: the state directory is made where it is missing. Loaded, and put right
 * where a keeper has died without a word. request is borrowed. */
int record_begin(struct record *record, const struct request *request, bool create,
		 struct error *err);
/* The same for who has no request: a keeper. Neither locked nor loaded. */
int record_open(struct record *record, const char *state_dir, const char *id,
		const json_t *identity, struct error *err);
int record_load(struct record *record, struct error *err);
/* Under the lock, loaded: records `failed` where a machine should live and its keeper has ended,
 * for the machine has ended with it. */
int record_settle(struct record *record, struct error *err);
void record_end(struct record *record); /* accepts one that was not begun, if zeroed */

/* The HCS name of the machine that was started last, malloc'd; NULL: none was. Something of the
 * workspace lives as long as there is the pipe of its keeper (keeper/pipe.h). */
char *record_system_id(const struct record *record);
/* ERR_CONFLICT, or ERR_NOT_FOUND, where the state does not allow the command. */
int record_allows(const struct record *record, enum command command, struct error *err);
/* Records that state, with a detail (NULL, "": none). */
int record_note(struct record *record, enum state state, const char *detail, struct error *err);
/* The latest event, or one that says that there is none; a new reference. */
json_t *record_event(const struct record *record, struct error *err);
/* An event of now that is recorded nowhere. */
json_t *record_unrecorded(const struct record *record, enum state state, const char *detail,
			  struct error *err);

#endif
