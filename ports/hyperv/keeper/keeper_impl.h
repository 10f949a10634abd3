/* SPDX-License-Identifier: MIT */
/* Inside the keeper: its state, which its loop alone touches. */
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

/* What the deadline is for. */
enum awaited {
	AWAIT_NOTHING,
	AWAIT_READY,	  /* the guest, from its start */
	AWAIT_RESULT,	  /* of a workload with a timeout */
	AWAIT_EXIT,	  /* of a machine whose guest has gone */
	AWAIT_HALT,	  /* of a guest that was asked to end */
	AWAIT_TERMINATED, /* of a machine that was terminated */
};

struct keeper {
	struct record record;
	json_t *manifest, *runtime; /* documents; the record borrows its identity from runtime */
	struct config config;
	const char *system_id;
	struct inbox *inbox;
	struct channels *channels; /* NULL: none yet, as of the next three */
	struct serial *serial;
	struct guest *guest;
	struct hcs_system *system;
	struct outcome outcome;
	enum awaited awaited;
	uint64_t deadline;
	bool started;	    /* the machine runs, or ran */
	bool over;	    /* nothing is waited for any more */
	bool ending;	    /* the guest says that it ends in order */
	char exit_type[64]; /* of the machine, when it is over; "": not known */
	void (*on_ready)(void *data);
	void *data;
};

/* Any wish for the end, and what stands of several (supervisor/live/outcome.h). cause: of
 * INTENT_FAILED, else NULL. */
void keeper_end(struct keeper *keeper, enum intent intent, const struct error *cause);
void keeper_fail(struct keeper *keeper, enum error_code code, const char *text);
void keeper_await(struct keeper *keeper, enum awaited what, uint64_t ms);
/* What has not come in time. */
void keeper_late(struct keeper *keeper);
/* How it ended, to be recorded: *failure has a code where it broke. */
enum state keeper_outcome(struct keeper *keeper, char *detail, size_t size, struct error *failure);

/* To supervisor.log: stderr of one that was left behind. */
void keeper_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Under the command lock, which is taken for it. */
void keeper_note(struct keeper *keeper, enum state state, const char *detail);
void keeper_write(struct keeper *keeper, const char *file, const json_t *document);

#endif
