/* SPDX-License-Identifier: MIT */
/* A queue of notices from a keeper's threads. The keeper's one loop takes the notices from the
 * queue. */
#ifndef HYPERV_INBOX_H
#define HYPERV_INBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/windows/text.h"

enum notice_kind {
	NOTICE_HALT,	/* a command asks to halt the machine */
	NOTICE_STOP,	/* a command asks to stop the machine */
	NOTICE_KILL,	/* a command asks to kill the machine */
	NOTICE_HELLO,	/* the guest's first message, in `message` */
	NOTICE_READY,	/* the guest is ready */
	NOTICE_RESULT,	/* the guest's result, in `message` */
	NOTICE_ENDING,	/* the guest says that it ends in order */
	NOTICE_LOST,	/* the control stream has ended; `why` says why */
	NOTICE_BROKEN,	/* the guest broke the protocol; `why` says how */
	NOTICE_EXITED,	/* the machine has ended; `why` is its exit type */
	NOTICE_NOTHING, /* nothing came before the deadline */
};

struct notice {
	enum notice_kind kind;
	json_t *message; /* the taker of the notice owns it */
	char why[200];
};

struct inbox;
/* Makes an inbox, which exists for the life of the process. */
struct inbox *inbox_new(struct error *err);
/* Puts a notice into the inbox. May be called from any thread. The inbox takes over the reference
 * to `message`. `why` may be NULL. */
void inbox_post(struct inbox *inbox, enum notice_kind kind, json_t *message, const char *why);
/* Takes the next notice. Waits for it until `deadline` (clock_mono_ns(); UINT64_MAX: no
 * deadline). */
struct notice inbox_take(struct inbox *inbox, uint64_t deadline);

#endif
