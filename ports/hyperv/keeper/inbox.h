/* SPDX-License-Identifier: MIT */
/* A queue of notices, from the keeper's threads to the keeper's loop. */
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
	NOTICE_HELLO,	/* the guest has sent its first message, which `message` has */
	NOTICE_READY,	/* the guest is ready */
	NOTICE_RESULT,	/* the guest has sent its result, which `message` has */
	NOTICE_ENDING,	/* the guest has announced that it will end in order */
	NOTICE_LOST,	/* the control stream has ended; `why` is the reason */
	NOTICE_BROKEN,	/* the guest has broken the protocol; `why` tells how */
	NOTICE_EXITED,	/* the machine has ended; `why` is its exit type */
	NOTICE_NOTHING, /* no notice came before the deadline */
};

struct notice {
	enum notice_kind kind;
	json_t *message; /* the message; it belongs to the caller of inbox_take(); NULL: none */
	char why[200];
};

struct inbox;
/* Makes an inbox, which exists until the process ends. Returns NULL with an error. */
struct inbox *inbox_new(struct error *err);
/* Puts a notice into the inbox. Any thread may call this. The inbox takes over the reference to
 * `message`. `why` may be NULL. */
void inbox_post(struct inbox *inbox, enum notice_kind kind, json_t *message, const char *why);
/* Takes the next notice out of the inbox. Waits for one until `deadline` (on clock_mono_ns();
 * UINT64_MAX: for ever). */
struct notice inbox_take(struct inbox *inbox, uint64_t deadline);

#endif
