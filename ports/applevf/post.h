/* SPDX-License-Identifier: MIT */
/*
 * Passes messages from the framework's dispatch queue to the event loop. These messages are called
 * letters. The dispatch queue runs on threads of macOS, and uses no data of the event loop. The
 * dispatch queue puts a letter into a list of limited size, which is called the box, and wakes up
 * the event loop. The event loop handles the letters in their order. The other direction needs no
 * box: the event loop calls dispatch_async() to let the dispatch queue do work (vz.h).
 *
 * A guest can cause any number of letters by its connections. So letters about connections may not
 * fill the whole box, and LETTERS_RESERVED places are only for other letters. If the box has no
 * room for a letter about a connection, the connection is refused at once.
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
	LETTER_GUEST_STOPPED, /* LETTER_GUEST_STOPPED: the guest switched itself off */
	LETTER_CRASHED,	      /* the machine has stopped because of an error */
	/* vz_stop() has stopped the machine. If the stop has failed, `why` is set. */
	LETTER_STOPPED,
	LETTER_PAUSED,
	LETTER_RESUMED,
	/* The guest was asked to switch itself off. If this request has failed, `why` is set. */
	LETTER_POWER,
	LETTER_BALLOON,
	LETTER_SHARED,
	LETTER_UNSHARED,
	LETTER_NETWORK_LOST, /* the framework has detached the network card */
	LETTER_SEVERED,
	/* The connection `id` to the guest is open. If the connection has failed, `why` is set. */
	LETTER_CONNECTED,
	LETTER_ACCEPTED, /* the guest has connected to the host's port `port` */
	LETTER_KINDS
};

struct letter {
	enum letter_kind kind;
	struct error why; /* the reason of a failure; its code is ERR_NONE after a success */
	uint64_t id;	  /* the id of a connection that the host has requested */
	uint32_t port;	  /* the port of the host to which the guest has connected */
	int fd;		  /* the connection's file descriptor, which the reader closes; -1: none */
	void *connection; /* the framework's object of the connection, for vz_hang_up() */
	/* The names of the channels that a quarantine has cut. The receiver of the message releases
	 * the array. */
	json_t *names;
};

#define LETTERS 2048 /* the largest number of messages that may wait */
/* How many messages can wait in addition if they are not about connections. */
#define LETTERS_RESERVED 64

struct post;

/* Handles one message. Called on the thread of the event loop. */
typedef void letter_fn(void *data, const struct letter *letter);

struct post *post_new(struct loop *loop, letter_fn *fn, void *data, struct error *err);
/* Puts a message into the list of messages for the event loop. Any thread may call this function.
 * Returns false if the list has no room. In this case the caller must close the message's file
 * descriptor and release its objects. */
bool post_send(struct post *post, const struct letter *letter);
/* Handles the messages that still wait, and then closes the list of messages. After that,
 * post_send() returns false. */
void post_close(struct post *post);
/* Frees the list of messages. Neither the event loop nor the dispatch queue may use it any more.
 * Accepts NULL. */
void post_free(struct post *post);

#endif
