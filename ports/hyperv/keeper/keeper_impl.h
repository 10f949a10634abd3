/* SPDX-License-Identifier: MIT */
/* The state inside the keeper. Only the keeper's loop touches it. */
#ifndef HYPERV_KEEPER_IMPL_H
#define HYPERV_KEEPER_IMPL_H

#include "contract/request.h"
#include "hyperv/hcs/system.h"
#include "hyperv/inputs/inputs.h"
#include "hyperv/keeper/channels.h"
#include "hyperv/keeper/guest.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/keeper/keeper.h"
#include "hyperv/keeper/serial.h"
#include "hyperv/store/record.h"
#include "supervisor/live/outcome.h"

/* The event for which the keeper waits until its deadline. */
enum awaited {
	AWAIT_NOTHING,
	AWAIT_READY,	  /* that the guest is ready, from its start on */
	AWAIT_RESULT,	  /* the result of a workload that has a timeout */
	AWAIT_EXIT,	  /* the exit of a machine whose guest has gone */
	AWAIT_HALT,	  /* the end of a guest that was asked to end */
	AWAIT_TERMINATED, /* the exit of a machine that was terminated */
};

struct keeper {
	struct record record;
	json_t *manifest, *runtime; /* documents; the record borrows its identity from runtime */
	struct config config;
	const char *system_id;
	struct inbox *inbox;
	struct channels *channels; /* this member and the next three are NULL until they are made */
	struct serial *serial;
	struct guest *guest;
	struct hcs_system *system;
	struct outcome outcome;
	enum awaited awaited;
	uint64_t deadline;
	bool started;	    /* the machine runs, or ran */
	bool over;	    /* the loop of the keeper ends */
	bool ending;	    /* the guest has said that it ends in order */
	char exit_type[64]; /* the kind of end of the machine (hcs/system.h); "": not known */
	void (*on_ready)(void *data);
	void *data;
};

/* Begins the machine's end for the reason `intent`. If there are several reasons, intent_after()
 * decides which one is kept (supervisor/live/outcome.h). `cause` is the error with INTENT_FAILED,
 * otherwise NULL. */
void keeper_end(struct keeper *keeper, enum intent intent, const struct error *cause);
void keeper_fail(struct keeper *keeper, enum error_code code, const char *text);
void keeper_await(struct keeper *keeper, enum awaited what, uint64_t ms);
/* Handles that the awaited event has not come in time. */
void keeper_late(struct keeper *keeper);
/* Returns the state to record for the machine's end, with its detail. *failure has a code if the
 * machine failed. */
enum state keeper_outcome(struct keeper *keeper, char *detail, size_t size, struct error *failure);

/* Writes a line to stderr, which is supervisor.log if the keeper is a process of its own. */
void keeper_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Records a state. Takes the command lock for this time. */
void keeper_note(struct keeper *keeper, enum state state, const char *detail);
void keeper_write(struct keeper *keeper, const char *file, const json_t *document);

#endif
