/* SPDX-License-Identifier: MIT */
/*
 * Passes letters from the framework's queue to the loop. The queue runs on threads of the system,
 * and uses nothing that belongs to the loop. It puts a letter into a box of limited size, and wakes
 * the loop. The loop reads the letters in their order. The other direction needs no box: the loop
 * gives work to the queue by dispatch_async() (vz.h).
 *
 * A guest can cause any number of letters by its connections. So letters about connections may not
 * fill the whole box: LETTERS_RESERVED places are kept for other letters. If the box has no room
 * for the letter about a connection, the connection is refused at once.
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
	/* vz_stop() has stopped the machine; or it has failed, and `why` is set */
	LETTER_STOPPED,
	LETTER_PAUSED,
	LETTER_RESUMED,
	/* The guest was asked to switch itself off. If it could not be asked, `why` is set. */
	LETTER_POWER,
	LETTER_BALLOON,
	LETTER_SHARED,
	LETTER_UNSHARED,
	LETTER_NETWORK_LOST, /* the framework has disconnected the network card */
	LETTER_SEVERED,
	/* The connection `id` to the guest was made. If it could not be made, `why` is set. */
	LETTER_CONNECTED,
	LETTER_ACCEPTED, /* the guest has connected to the host's port `port` */
	LETTER_KINDS
};

struct letter {
	enum letter_kind kind;
	struct error why; /* the error of a failure; its code is ERR_NONE after a success */
	uint64_t id;	  /* the id of a connection that the host has asked for */
	uint32_t port;	  /* the port of the host to which the guest has connected */
	int fd;		  /* the descriptor of a connection, which the reader closes; -1: none */
	void *connection; /* the framework's object for this connection, for vz_hang_up() */
	/* the names of the channels that a quarantine has cut; the reader releases the array */
	json_t *names;
};

#define LETTERS 2048 /* the most letters in a box */
/* How many places are kept for letters that are not about connections. */
#define LETTERS_RESERVED 64

struct post;

/* Reads one letter. Called on the loop. */
typedef void letter_fn(void *data, const struct letter *letter);

struct post *post_new(struct loop *loop, letter_fn *fn, void *data, struct error *err);
/* Puts a letter into the box. Any thread may call this. Returns false if the box has no room; the
 * descriptor and the objects of the letter then still belong to the caller. */
bool post_send(struct post *post, const struct letter *letter);
/* Closes the loop's end of the box. This call reads the letters that are still in the box. The box
 * has no room for later letters. */
void post_close(struct post *post);
/* Frees the box. Neither the loop nor the queue may use the box any more. Accepts NULL. */
void post_free(struct post *post);

#endif
