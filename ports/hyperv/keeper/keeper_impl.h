/* SPDX-License-Identifier: MIT */
/* The keeper's state. Only the keeper's loop reads and writes it. */
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
	AWAIT_READY,	  /* the guest becomes ready after its start */
	AWAIT_RESULT,	  /* the guest sends the result of a workload that has a time limit */
	AWAIT_EXIT,	  /* a machine whose control stream has ended exits */
	AWAIT_HALT,	  /* a guest that was asked to end does so */
	AWAIT_TERMINATED, /* a machine that was terminated exits */
};

struct keeper {
	struct record record;
	/* the contents of workspace.json and runtime.json; record.identity is a part of
	 * `runtime` */
	json_t *manifest, *runtime;
	struct config config;
	const char *system_id;
	struct inbox *inbox;
	/* this and the next three members are NULL until they are made */
	struct channels *channels;
	struct serial *serial;
	struct guest *guest;
	struct hcs_system *system;
	struct outcome outcome;
	enum awaited awaited;
	uint64_t deadline;
	bool started;	    /* true: the machine was started */
	bool over;	    /* true: the keeper's loop must end */
	bool ending;	    /* true: the guest has announced that it will end in order */
	char exit_type[64]; /* how the machine has ended (hcs/system.h); "": not known */
	void (*on_ready)(void *data);
	void *data;
};

/* Begins to end the machine, for the reason `intent`. If an end was already begun for another
 * reason, intent_after() decides which reason is kept (supervisor/live/outcome.h). `cause` is the
 * error for INTENT_FAILED, otherwise NULL. */
void keeper_end(struct keeper *keeper, enum intent intent, const struct error *cause);
void keeper_fail(struct keeper *keeper, enum error_code code, const char *text);
void keeper_await(struct keeper *keeper, enum awaited what, uint64_t ms);
/* Is called when the event that the keeper awaits has not come in time. */
void keeper_late(struct keeper *keeper);
/* Returns the state that is recorded for the machine's end, and writes its detail to `detail`. If
 * the machine has failed, sets *failure. */
enum state keeper_outcome(struct keeper *keeper, char *detail, size_t size, struct error *failure);

/* Writes a line to stderr, which is supervisor.log if the keeper is a separate process. */
void keeper_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Records a state, under the command lock. */
void keeper_note(struct keeper *keeper, enum state state, const char *detail);
void keeper_write(struct keeper *keeper, const char *file, const json_t *document);

#endif
