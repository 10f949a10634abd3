/* SPDX-License-Identifier: MIT */
/*
 * What the framework's queue has to say to the loop. The queue runs on threads of the system's, and
 * nothing of the loop's is touched there: it leaves a letter in a box that holds so many and rings,
 * and the loop opens the letters in their order. The other way needs no box: the loop gives the
 * queue its work by dispatch_async() (vz.h).
 *
 * A guest can cause letters without end by connecting, so connections leave room for those that a
 * machine cannot do without; what finds no room is refused there and then.
 */
#ifndef BACKEND_APPLEVF_POST_H
#define BACKEND_APPLEVF_POST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"

enum letter_kind {
	LETTER_STARTED,
	LETTER_GUEST_STOPPED, /* it switched itself off */
	LETTER_CRASHED,	      /* the machine has stopped with an error */
	LETTER_STOPPED,	      /* by our own word; or why it could not be */
	LETTER_PAUSED,
	LETTER_RESUMED,
	LETTER_POWER, /* the guest was asked to switch itself off; or why not */
	LETTER_BALLOON,
	LETTER_SHARED,
	LETTER_UNSHARED,
	LETTER_NETWORK_LOST, /* the framework has disconnected the card */
	LETTER_SEVERED,
	LETTER_CONNECTED, /* the connection `id` to the guest; or why not */
	LETTER_ACCEPTED,  /* one of the guest's, to host port `port` */
	LETTER_KINDS
};

struct letter {
	enum letter_kind kind;
	struct error why; /* code ERR_NONE: there is nothing to complain of */
	uint64_t id;	  /* of a connection that we asked for */
	uint32_t port;	  /* that the guest dialled */
	int fd;		  /* of a connection: the reader's own */
	void *connection; /* the framework's object behind fd, for vz_hang_up() */
	json_t *names;	  /* what was severed: the reader's own */
};

#define LETTERS 2048	    /* that a box holds */
#define LETTERS_RESERVED 64 /* of them not for connections */

struct post;

/* Reads a letter, on the loop. */
typedef void letter_fn(void *data, const struct letter *letter);

struct post *post_new(struct loop *loop, letter_fn *fn, void *data, struct error *err);
/* From any thread. false: there is no room, and what the letter holds is still the sender's. */
bool post_send(struct post *post, const struct letter *letter);
/* The loop's end of it: what is in the box yet is read, and what comes later finds no room. */
void post_close(struct post *post);
/* Once nobody on either side has it any more. Accepts NULL. */
void post_free(struct post *post);

#endif
