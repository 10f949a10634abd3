/* SPDX-License-Identifier: MIT */
/*
 * The second face: the core behind a byte stream, a Unix socket that QEMU joins to a virtio-serial
 * port of the guest's. base/packet.h has what goes over it.
 *
 * All that comes is the guest's. A packet is taken when it is there whole, its length judged before
 * its bytes are awaited; what cannot be one ends the streams, and then nothing counts but a HELLO.
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
	bool readable; /* it may have bytes, or its end */
	bool writable;
	bool hung_up; /* read on to the end, no event will tell it */
	bool heard;   /* bytes have come */
	bool ended;
	bool astray;	   /* nothing is taken for a packet until a HELLO */
	bool asks, greets; /* ASK, or WELCOME, is the next thing to be said */
	uint64_t guest_cid, number;
	uint32_t in_at, in_end; /* bytes that have come */
	struct iovec out[PORT_SLOTS];
	struct span unsent; /* of out */
	uint8_t in[PORT_INPUT];
	uint8_t slots[PORT_SLOTS][PACKET_WHOLE];
};

/* fd: connected, non-blocking; stays the caller's. -1: there is none, and nothing is to be done. */
void port_init(struct port *port, struct core *core, uint64_t guest_cid, int fd, struct log *log);
/* What epoll says of it, edge-triggered. */
void port_event(struct port *port, uint32_t events);
/* Moves a bounded number of packets both ways. True when there is more to do. */
bool port_pump(struct port *port);
/* The other end is gone: what it had sent whole has been worked off. */
bool port_has_ended(const struct port *port);

#endif
