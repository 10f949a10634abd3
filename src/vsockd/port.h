/* SPDX-License-Identifier: MIT */
/*
 * The second face: the core behind a byte stream. The stream is a Unix socket that QEMU connects to
 * a virtio-serial port of the guest. base/packet.h describes the protocol on it.
 *
 * The guest controls all bytes that arrive. A packet is taken when it is complete, and its length
 * is checked before its bytes are awaited. Bytes that cannot be a packet end the streams, and then
 * only a HELLO counts.
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
	int fd;	       /* -1: none */
	bool readable; /* the socket may have bytes, or its end */
	bool writable;
	bool hung_up; /* read on to the end: no event will announce it */
	bool heard;   /* bytes have come */
	bool ended;
	bool astray;	   /* bytes are not taken for packets until a HELLO comes */
	bool asks, greets; /* the next message to send is ASK, or WELCOME */
	uint64_t guest_cid, number;
	uint32_t in_at, in_end; /* the bytes that have come, in `in` */
	struct iovec out[PORT_SLOTS];
	struct span unsent; /* the part of out that is not sent yet */
	uint8_t in[PORT_INPUT];
	uint8_t slots[PORT_SLOTS][PACKET_WHOLE];
};

/* Sets the port up. fd is connected and non-blocking, and the caller keeps it. -1: there is no
 * connection yet, and nothing is to be done. */
void port_init(struct port *port, struct core *core, uint64_t guest_cid, int fd, struct log *log);
/* Handles an event of epoll, edge-triggered. */
void port_event(struct port *port, uint32_t events);
/* Moves a bounded number of packets both ways. Returns true if there is more to do. */
bool port_pump(struct port *port);
/* Returns true if the other end is gone and the packets that it had sent completely have been
 * handled. */
bool port_has_ended(const struct port *port);

#endif
