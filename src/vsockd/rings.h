/* SPDX-License-Identifier: MIT */
/*
 * The device's side of split virtqueues (virtio 1.2, section 2.7).
 *
 * The guest may write to a ring while the device reads it. So each index and descriptor is first
 * copied once into the daemon's own memory, and the copy is checked. Indices are masked. A chain
 * has at most as many descriptors as the queue. An address becomes a pointer only through memory.h.
 * A malformed chain is given back with length 0 (RING_BAD). An impossible index belongs to no
 * chain: it stops the ring (`broken`) until the front-end sets the ring up again.
 *
 * Chains are given back in the order in which they were taken. So two counters suffice: one of the
 * chains that were taken, and one of the chains that were given back. A chain that was taken but
 * not needed can be put back.
 */
#ifndef VSOCKD_RINGS_H
#define VSOCKD_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vsockd/memory.h"
#include "vsockd/span.h"

/* The most descriptors of a ring. A chain has at most this number of iovecs, which is also IOV_MAX
 * of sendmsg(). */
#define RING_MAX 1024

struct vring_desc;
struct vring_avail;
struct vring_used;

/* The ring's addresses in the front-end's process, as in SET_VRING_ADDR. */
struct ring_address {
	uint64_t desc;
	uint64_t avail;
	uint64_t used;
};

struct ring {
	unsigned num; /* the number of descriptors, a power of two; 0: not set */
	struct ring_address address;
	bool addressed; /* the front-end has set `address` */
	int kick;	/* the eventfd by which the guest notifies the device; -1: there is none */
	int call;	/* the eventfd by which the device interrupts the guest; -1: there is
			 * none */
	bool kicked;	/* SET_VRING_KICK has come, and no GET_VRING_BASE since then */
	bool enabled;
	bool broken;
	bool quiet; /* the guest has been asked not to kick */
	/* The number of chains that were taken. The vhost-user protocol calls this number the base
	 * of the ring. */
	uint16_t taken;
	/* The number of chains that were given back. Between two pumps it is equal to `taken`. */
	uint16_t given;
	uint16_t offered; /* the guest's index of available chains, as it was last read */
	/* Pointers to the three parts of the ring in guest memory. NULL: the ring is not mapped. */
	const struct vring_desc *desc;
	const struct vring_avail *avail;
	struct vring_used *used;
};

enum ring_direction { RING_TO_HOST, RING_TO_GUEST };
enum ring_result {
	RING_EMPTY, /* no chain can be taken, or the ring does not work */
	RING_CHAIN,
	RING_BAD, /* the chain that was taken is malformed; the caller gives it back with length
		   * 0 */
};
struct ring_chain {
	uint16_t head;
	struct span span;
};

#define RING_INIT                      \
	{                              \
		.kick = -1, .call = -1 \
	}

int ring_set_num(struct ring *ring, uint32_t num, struct error *err);
int ring_set_base(struct ring *ring, uint32_t base, struct error *err);
/* Finds the three parts of the ring in guest memory. Must be called again when the memory's table
 * has changed. ERR_INVALID: a part is not in the memory. */
int ring_map(struct ring *ring, const struct memory *memory, struct error *err);
void ring_unmap(struct ring *ring);
/* Returns true if chains may be taken. */
bool ring_works(const struct ring *ring);

/* Takes the next chain. chain->span gets the chain's memory, with its iovecs in iov[0] to iov[max -
 * 1]; `max` is at least 1. A chain is malformed if one of its descriptors has another direction
 * than `direction`, or if it needs more than `max` iovecs. */
enum ring_result ring_take(struct ring *ring, const struct memory *memory,
			   enum ring_direction direction, struct iovec *iov, unsigned max,
			   struct ring_chain *chain);
/* Puts the n chains that were taken last back into the ring. These chains must not have been given
 * back to the guest. */
void ring_rewind(struct ring *ring, unsigned n);
/* Gives the guest the chain back that was taken first. `len` is the number of bytes that were
 * written to the chain. The guest sees the chain after ring_publish(). */
void ring_give(struct ring *ring, uint16_t head, uint32_t len);
/* Shows the guest all chains that were given back. Returns true if the guest wants an interrupt for
 * them. */
bool ring_publish(struct ring *ring);
/* Tells the guest whether it must kick when it offers chains. If `want` is true, returns true if
 * chains are there already, which no kick will announce. If `want` is false, returns false. */
bool ring_want_kick(struct ring *ring, bool want);

#endif
