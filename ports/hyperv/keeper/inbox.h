/* SPDX-License-Identifier: MIT */
/* What a keeper's threads have to tell it: a queue that its one loop takes from. */
#ifndef HYPERV_INBOX_H
#define HYPERV_INBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/windows/text.h"

enum notice_kind {
	NOTICE_HALT,	/* a command asks for it */
	NOTICE_STOP,	/* the same */
	NOTICE_KILL,	/* the same */
	NOTICE_HELLO,	/* of the guest; message: what it said */
	NOTICE_READY,	/* of the guest */
	NOTICE_RESULT,	/* of the guest; message */
	NOTICE_ENDING,	/* of the guest: it ends in order */
	NOTICE_LOST,	/* its control stream has ended; why */
	NOTICE_BROKEN,	/* the same, by a breach of the protocol; why */
	NOTICE_EXITED,	/* the machine is over; why: its exit type */
	NOTICE_NOTHING, /* until the deadline */
};

struct notice {
	enum notice_kind kind;
	json_t *message; /* whoever takes it owns it */
	char why[200];
};

struct inbox;
struct inbox *inbox_new(struct error *err); /* for the life of the process */
/* From any thread. message's reference becomes the inbox'; why may be NULL. */
void inbox_post(struct inbox *inbox, enum notice_kind kind, json_t *message, const char *why);
/* The next one, waited for until deadline (clock_mono_ns(); UINT64_MAX: none). */
struct notice inbox_take(struct inbox *inbox, uint64_t deadline);

#endif
