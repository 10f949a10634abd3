/* SPDX-License-Identifier: MIT */
/*
 * The second interface ("face") between the core and the guest: the guest's packets come and go
 * over a byte stream. The byte stream is a Unix socket that QEMU connects to a virtio-serial port
 * of the guest, or the guest's connection to --link-fd. base/packet.h describes the protocol of the
 * byte stream.
 *
 * The guest controls all bytes that arrive. A packet is handled when it is complete, and its length
 * is checked before the rest of its bytes is awaited. If bytes cannot be a packet, all streams end,
 * and the bytes that follow are ignored up to the next HELLO.
 */
#ifndef VSOCKD_PORT_H
#define VSOCKD_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/packet.h"
#include "vsockd/core.h"

#define PORT_SLOTS 8
#define PORT_INPUT (8 * PACKET_WHOLE)

struct port {
	struct core *core;
	struct log *log;
	int fd;	       /* the connected socket; -1: there is no connection */
	bool readable; /* the socket may have bytes to read, or may be at its end */
	bool writable;
	/* The other end has shut down. The socket must be read until its end, since no further
	 * event will come. */
	bool hung_up;
	bool heard; /* the guest has sent bytes */
	bool ended;
	bool astray; /* bytes are ignored until a HELLO comes */
	/* asks: an ASK must be sent next. greets: a WELCOME must be sent next. If both are set,
	 * only the WELCOME is sent. */
	bool asks, greets;
	/* number: the number in the guest's last HELLO, which the WELCOME repeats */
	uint64_t guest_cid, number;
	uint32_t in_at, in_end; /* the bytes from in[in_at] to before in[in_end] have come and are
				 * not handled yet */
	struct iovec out[PORT_SLOTS];
	struct span unsent; /* the part of `out` that is not sent yet */
	uint8_t in[PORT_INPUT];
	uint8_t slots[PORT_SLOTS][PACKET_WHOLE];
};

/* Sets the port up. `fd` is a connected and non-blocking socket, which the caller closes. If `fd`
 * is -1, there is no connection yet, and port_pump() does nothing. */
void port_init(struct port *port, struct core *core, uint64_t guest_cid, int fd, struct log *log);
/* Stores an edge-triggered event of epoll for port_pump(). */
void port_event(struct port *port, uint32_t events);
/* Moves a limited number of packets in both directions. Returns true if there is more to do. */
bool port_pump(struct port *port);
/* Returns true if the other end has closed the connection, or the connection has failed. All
 * complete packets that were read before that have been handled. */
bool port_has_ended(const struct port *port);

#endif
