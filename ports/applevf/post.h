/* SPDX-License-Identifier: MIT */
/*
 * Letters from the framework's queue to the loop. The queue runs on threads of the system, and uses
 * nothing that belongs to the loop. It puts a letter into a box of limited size and wakes the loop,
 * which reads the letters in their order. The other direction needs no box: the loop gives work to
 * the queue by dispatch_async() (vz.h).
 *
 * A guest can cause any number of letters by its connections. So letters about connections may not
 * fill the whole box: some room is kept for the other letters. A connection whose letter finds no
 * room is refused at once.
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
	LETTER_GUEST_STOPPED, /* the guest switched itself off */
	LETTER_CRASHED,	      /* the machine has stopped with an error */
	LETTER_STOPPED,	      /* vz_stop() has stopped the machine; `why` is set if it could not */
	LETTER_PAUSED,
	LETTER_RESUMED,
	/* The guest was asked to switch itself off; `why` is set if it could not be asked. */
	LETTER_POWER,
	LETTER_BALLOON,
	LETTER_SHARED,
	LETTER_UNSHARED,
	LETTER_NETWORK_LOST, /* the framework has disconnected the network card */
	LETTER_SEVERED,
	/* The connection `id` to the guest was made; `why` is set if it could not be made. */
	LETTER_CONNECTED,
	LETTER_ACCEPTED, /* a connection by the guest to host port `port` */
	LETTER_KINDS
};

struct letter {
	enum letter_kind kind;
	struct error why; /* code ERR_NONE: no error */
	uint64_t id;	  /* the id of a connection that the host has asked for */
	uint32_t port;	  /* the port that the guest has dialled */
	int fd;		  /* the descriptor of a connection; the reader closes it */
	void *connection; /* the framework's object for this connection, for vz_hang_up() */
	json_t *names; /* the names of the channels that were cut; the reader releases the array */
};

#define LETTERS 2048	    /* the most letters in a box */
#define LETTERS_RESERVED 64 /* the room that is kept for letters that are not about connections */

struct post;

/* Reads one letter. Called on the loop. */
typedef void letter_fn(void *data, const struct letter *letter);

struct post *post_new(struct loop *loop, letter_fn *fn, void *data, struct error *err);
/* Puts a letter into the box. May be called from any thread. Returns false if there is no room; the
 * sender then still owns the descriptor and the objects of the letter. */
bool post_send(struct post *post, const struct letter *letter);
/* Closes the loop's end of the box. The letters that are still in the box are read in this call.
 * Later letters find no room. */
void post_close(struct post *post);
/* Frees the box. Neither the loop nor the queue may use the box any more. Accepts NULL. */
void post_free(struct post *post);

#endif
