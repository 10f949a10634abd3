/* SPDX-License-Identifier: MIT */
/* The state of the live supervisor, which only the main thread reads and writes. */
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

/* What the live supervisor waits for until its deadline. */
enum awaited {
	AWAIT_NOTHING,
	AWAIT_READY,	  /* the guest becomes ready after its start */
	AWAIT_RESULT,	  /* the guest sends the result of a workload that has a time limit */
	AWAIT_EXIT,	  /* the machine exits after its control stream has ended */
	AWAIT_HALT,	  /* the guest switches itself off, as it was asked to */
	AWAIT_TERMINATED, /* the machine exits after it was terminated */
};

struct keeper {
	struct record record;
	/* The contents of workspace.json and of runtime.json. record.identity is a part of
	 * `runtime`. */
	json_t *manifest, *runtime;
	struct config config;
	const char *system_id;
	struct inbox *inbox;
	/* `channels`, `serial`, `guest` and `system` are NULL until they are created */
	struct channels *channels;
	struct serial *serial;
	struct guest *guest;
	struct hcs_system *system;
	struct outcome outcome;
	enum awaited awaited;
	uint64_t deadline;
	bool started;	    /* true: the machine was started */
	bool over;	    /* true: the loop of the main thread must end */
	bool ending;	    /* true: the guest has announced that it will end in order */
	char exit_type[64]; /* how the machine has ended (hcs/system.h) */
	void (*on_ready)(void *data);
	void *data;
};

/* Begins to end the machine, for the reason `intent`. If the machine is already being ended for
 * another reason, intent_after() (supervisor/live/outcome.h) decides which of the two reasons is
 * kept. `cause` is the error if `intent` is INTENT_FAILED, otherwise NULL. */
void keeper_end(struct keeper *keeper, enum intent intent, const struct error *cause);
void keeper_fail(struct keeper *keeper, enum error_code code, const char *text);
void keeper_await(struct keeper *keeper, enum awaited what, uint64_t ms);
/* Called when the event that keeper_await() waits for has not come before the deadline. */
void keeper_late(struct keeper *keeper);
/* Returns the state to record for the machine's end, and writes a text about the end to `detail`.
 * If the machine has failed, sets *failure to the error. */
enum state keeper_outcome(struct keeper *keeper, char *detail, size_t size, struct error *failure);

/* Writes a line to stderr. If the live supervisor is a separate process, its stderr is the file
 * supervisor.log. */
void keeper_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Takes the command lock and records a state. */
void keeper_note(struct keeper *keeper, enum state state, const char *detail);
void keeper_write(struct keeper *keeper, const char *file, const json_t *document);

#endif
