/* SPDX-License-Identifier: MIT */
/* Finds the host that the first words of a connection are for. */
#ifndef NETGATE_OPENING_H
#define NETGATE_OPENING_H

#include "netgate/host_name.h"

#define OPENING_BYTES 16384 /* the most bytes that are waited for */

enum opening {
	OPENING_UNFINISHED, /* more has to come */
	OPENING_NAMED,
	OPENING_NAMELESS,
	OPENING_UNREADABLE, /* unreadable, whatever may still come */
};

/*
 * Both functions are strict and need all of the words: a text that two programs could read in two
 * ways counts as unreadable.
 *
 *   client_hello_read   TLS (RFC 8446, 4.1.2; RFC 6066, 3): the handshake's first message, in as
 *                       many records as it takes, and the one host_name in it
 *   request_head_read   HTTP (RFC 9112): all lines of the first request's head, the one Host of
 *                       them, and the host of the target if that is a whole URL
 */
enum opening client_hello_read(struct bytes stream, struct host_name *name);
enum opening request_head_read(struct bytes stream, struct host_name *name);

#endif
