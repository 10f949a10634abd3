/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user device: the core with two rings before it. The front-end's messages (vhost_user.h)
 * set the device up; this part moves packets.
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
	uint64_t features;	    /* those that the driver has accepted */
	uint64_t protocol_features; /* those that the front-end has accepted */
	struct memory memory;
	struct ring rings[QUEUE_COUNT];
	bool running; /* both rings work, or worked until they were stopped */
	bool told_broken;
	struct iovec iov[RING_MAX];
};

void device_init(struct device *device, struct core *core, uint64_t guest_cid, int epfd,
		 struct log *log);
/* Sets the rings back to their first state and ends the core's streams. Handles first what the
 * guest has sent. */
void device_reset(struct device *device);
/* Resets the device when the front-end is gone, and releases everything that the front-end gave. */
void device_disconnect(struct device *device);

/* Set new descriptors of a ring; -1: none. Both functions take over fd. */
int device_set_kick(struct device *device, unsigned queue, int fd, struct error *err);
void device_set_call(struct device *device, unsigned queue, int fd);
/* Handles what the driver has left in the ring, then stops the ring. Returns the ring's base. */
uint16_t device_stop_ring(struct device *device, unsigned queue);
/* Lets the ring go on from a base. When a paused machine goes on, that is the base at which the
 * ring was stopped. A base of 0 means a new driver, for which the streams of the old driver are
 * meaningless. Only here can the two cases be told apart, so a machine that reboots keeps its
 * streams until the new driver comes. */
int device_set_base(struct device *device, unsigned queue, uint32_t base, struct error *err);
/* Must be called when a ring or the memory has changed. Looks up the parts of the ring again. */
int device_map_ring(struct device *device, unsigned queue, struct error *err);
/* Must be called when rings may have begun to work. */
void device_started(struct device *device);

/* Moves a bounded number of packets both ways. Returns true if there is more to do. */
bool device_pump(struct device *device);

#endif
