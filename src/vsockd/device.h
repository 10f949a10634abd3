/* SPDX-License-Identifier: MIT */
/*
 * The device: the core behind two rings. The front-end's messages (vhost_user.h) set it up; this
 * moves packets.
 */
#ifndef VSOCKD_DEVICE_H
#define VSOCKD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "vsockd/core.h"
#include "vsockd/memory.h"
#include "vsockd/rings.h"

enum device_queue { QUEUE_RX, QUEUE_TX, QUEUE_COUNT };

struct device {
	struct core *core;
	struct log *log;
	int epfd;
	uint64_t guest_cid;
	uint64_t features;	    /* as the driver has taken them */
	uint64_t protocol_features; /* as the front-end has taken them */
	struct memory memory;
	struct ring rings[QUEUE_COUNT];
	bool running; /* both rings work, or did until they were stopped */
	bool told_broken;
	struct iovec iov[RING_MAX];
};

void device_init(struct device *device, struct core *core, uint64_t guest_cid, int epfd,
		 struct log *log);
/* The rings are as at the start, and the core's streams end. What the guest has sent is worked off
 * first. */
void device_reset(struct device *device);
/* The same when the front-end is gone: everything it gave is let go. */
void device_disconnect(struct device *device);

/* New descriptors of a ring; taken over. -1: none. */
int device_set_kick(struct device *device, unsigned queue, int fd, struct error *err);
void device_set_call(struct device *device, unsigned queue, int fd);
/* What the driver has left in the ring is worked off, then the ring stops; its base. */
uint16_t device_stop_ring(struct device *device, unsigned queue);
/* The ring goes on from a base: the one it was stopped at when a paused machine goes on, else 0
 * for a new driver, to whom the streams of the old one mean nothing. Only here can the two be told
 * apart, so a machine that reboots keeps its streams until the new driver comes. */
int device_set_base(struct device *device, unsigned queue, uint32_t base, struct error *err);
/* To be called when a ring or the memory has changed: looks its parts up again. */
int device_map_ring(struct device *device, unsigned queue, struct error *err);
/* To be called when rings may have begun to work. */
void device_started(struct device *device);

/* Moves a bounded number of packets both ways. True when there is more to do. */
bool device_pump(struct device *device);

#endif
