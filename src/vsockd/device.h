/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user device, which is one of the two interfaces ("faces") between the core and the
 * guest; port.h has the other. The guest's packets come and go over two rings. The front-end's
 * messages (vhost_user.h) set the device up. The functions of this header move packets.
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
	uint64_t features;	    /* the features that the driver has accepted */
	uint64_t protocol_features; /* the protocol features that the front-end has accepted */
	struct memory memory;
	struct ring rings[QUEUE_COUNT];
	/* Both rings have begun to work, and no ring was stopped since then. */
	bool running;
	bool told_broken; /* the log already has a line that a ring is broken */
	struct iovec iov[RING_MAX];
};

void device_init(struct device *device, struct core *core, uint64_t guest_cid, int epfd,
		 struct log *log);
/* Handles the packets that the guest has sent. Then sets the rings back to their first state, and
 * ends the core's streams. */
void device_reset(struct device *device);
/* Called when the front-end is gone. Resets the device, and releases the memory and descriptors
 * that the front-end has given. */
void device_disconnect(struct device *device);

/* Functions that set the kick or call descriptor of a ring and close the old descriptor. If `fd` is
 * -1, the ring gets no new descriptor. Both functions take over `fd`. */
int device_set_kick(struct device *device, unsigned queue, int fd, struct error *err);
void device_set_call(struct device *device, unsigned queue, int fd);
/* If the ring is QUEUE_TX, handles the packets that are still in it. Then stops the ring. Returns
 * the ring's base. */
uint16_t device_stop_ring(struct device *device, unsigned queue);
/* Sets the base from which the ring goes on. A paused machine goes on from the base at which the
 * ring was stopped, and its streams continue. Any other base means that a new driver has come: the
 * streams end, since the new driver does not know them. So a machine that reboots keeps its streams
 * until the new driver comes. */
int device_set_base(struct device *device, unsigned queue, uint32_t base, struct error *err);
/* Finds the parts of the ring in guest memory. Must be called when the ring or the memory has
 * changed. */
int device_map_ring(struct device *device, unsigned queue, struct error *err);
/* If both rings work now and did not work before, tells the core and the guest that the device
 * runs. Must be called whenever the rings may have begun to work. */
void device_started(struct device *device);

/* Moves a limited number of packets in both directions. Returns true if there is more to do. */
bool device_pump(struct device *device);

#endif
