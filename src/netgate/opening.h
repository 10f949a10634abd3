/* SPDX-License-Identifier: MIT */
/* Finds the name of a host in the first words of a connection (the first bytes of its stream). */
#ifndef NETGATE_OPENING_H
#define NETGATE_OPENING_H

#include "netgate/host_name.h"

#define OPENING_BYTES 16384 /* the most bytes at the beginning of a stream that are judged */

enum opening {
	OPENING_UNFINISHED, /* the words are not whole yet */
	OPENING_NAMED,	    /* the words are whole, and name a host */
	OPENING_NAMELESS,   /* the words are whole, and name no host */
	OPENING_UNREADABLE, /* the words are not valid, and no further bytes could make them
			     * valid */
};

/*
 * client_hello_read() and request_head_read() are strict: words that two programs could understand
 * in two ways count as unreadable. `stream` must have the connection's bytes from its beginning.
 *
 *   client_hello_read   reads TLS (RFC 8446, 4.1.2; RFC 6066, 3): the first message of the
 *                       handshake, which may be in several records. The message must have only one
 *                       host_name.
 *   request_head_read   reads HTTP (RFC 9112): all lines of the head of the first request. The head
 *                       must have only one Host. If the target is a whole URL, the host in the URL
 *                       must be equal to this Host.
 */
enum opening client_hello_read(struct bytes stream, struct host_name *name);
enum opening request_head_read(struct bytes stream, struct host_name *name);

#endif
