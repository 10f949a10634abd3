/* SPDX-License-Identifier: MIT */
/* A queue of notices from the live supervisor's other threads to its main thread. */
#ifndef HYPERV_INBOX_H
#define HYPERV_INBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/windows/text.h"

enum notice_kind {
	NOTICE_HALT,	/* a command wants to halt the machine */
	NOTICE_STOP,	/* a command wants to stop the machine */
	NOTICE_KILL,	/* a command wants to kill the machine */
	NOTICE_HELLO,	/* the guest has sent its first message, which is in `message` */
	NOTICE_READY,	/* the guest is ready */
	NOTICE_RESULT,	/* the guest has sent its result, which is in `message` */
	NOTICE_ENDING,	/* the guest has announced that it will end in order */
	NOTICE_LOST,	/* the control stream has ended; `why` is the reason */
	NOTICE_BROKEN,	/* the guest has broken the protocol; `why` says how */
	NOTICE_EXITED,	/* the machine has ended; `why` is the exit type of HCS */
	NOTICE_NOTHING, /* no notice came before the deadline */
};

struct notice {
	enum notice_kind kind;
	json_t *message; /* belongs to the caller of inbox_take(); NULL: there is none */
	char why[200];
};

struct inbox;
/* Creates an inbox, which is never freed. Returns NULL with err set on failure. */
struct inbox *inbox_new(struct error *err);
/* Puts a notice into the inbox. Any thread may call this function. Takes ownership of the reference
 * `message`, which may be NULL. `why` may be NULL. */
void inbox_post(struct inbox *inbox, enum notice_kind kind, json_t *message, const char *why);
/* Removes the next notice from the inbox and returns it. If the inbox is empty, waits until
 * `deadline`, a time of clock_mono_ns(), and then returns NOTICE_NOTHING. UINT64_MAX means to wait
 * for ever. */
struct notice inbox_take(struct inbox *inbox, uint64_t deadline);

#endif
