/* SPDX-License-Identifier: MIT */
/*
 * Split virtqueues (virtio 1.2, section 2.7), the device's side.
 *
 * The guest may write to a ring while the device reads it. So each index and descriptor is copied
 * once into the daemon's own memory and checked there. Indices are masked, a chain ends after as
 * many descriptors as the queue has, and an address becomes a pointer only through memory.h. A
 * malformed chain is given back with no bytes (RING_BAD). Impossible indices belong to no chain;
 * they stop the ring until the front-end sets it up anew (`broken`).
 *
 * Chains are used in the order in which they came. So one counter tells what was taken and what was
 * given back, and a chain that was taken but not needed can be put back.
 */
#ifndef VSOCKD_RINGS_H
#define VSOCKD_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vsockd/memory.h"
#include "vsockd/span.h"

#define RING_MAX 1024 /* descriptors; also the longest chain in iovecs, IOV_MAX of sendmsg() */

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
	unsigned num; /* descriptors, a power of two; 0: not set */
	struct ring_address address;
	bool addressed; /* address has been set */
	int kick;	/* eventfd by which the guest notifies the device; -1: none */
	int call;	/* eventfd by which the device interrupts the guest; -1: none */
	bool kicked;	/* SET_VRING_KICK came and GET_VRING_BASE has not since */
	bool enabled;
	bool broken;
	bool quiet;	/* the guest has been asked not to kick */
	uint16_t taken; /* chains taken; the base of the vhost-user protocol */
	uint16_t given; /* chains given back; equal to taken while no round of work is under way */
	uint16_t offered; /* the guest's index as last read */
	/* NULL unless the ring is mapped */
	const struct vring_desc *desc;
	const struct vring_avail *avail;
	struct vring_used *used;
};

enum ring_direction { RING_TO_HOST, RING_TO_GUEST };
enum ring_result {
	RING_EMPTY, /* there is no chain, or the ring does not work */
	RING_CHAIN,
	RING_BAD, /* a malformed chain: it was taken, and is to be given back with length 0 */
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
/* Looks up the three parts of the ring in memory. Must be called again when memory changes. */
int ring_map(struct ring *ring, const struct memory *memory, struct error *err);
void ring_unmap(struct ring *ring);
/* Returns true if chains may be taken. */
bool ring_works(const struct ring *ring);

/* Takes the next chain and puts its pieces into iov[0..max); max is at least 1. All descriptors of
 * the chain must have the given direction. */
enum ring_result ring_take(struct ring *ring, const struct memory *memory,
			   enum ring_direction direction, struct iovec *iov, unsigned max,
			   struct ring_chain *chain);
/* Puts back the last n chains that were taken and not given back. */
void ring_rewind(struct ring *ring, unsigned n);
/* Gives a chain back, with len bytes written. The guest sees it after ring_publish(). */
void ring_give(struct ring *ring, uint16_t head, uint32_t len);
/* Publishes the chains that were given back. Returns true if the guest wants an interrupt for
 * them. */
bool ring_publish(struct ring *ring);
/* Tells the guest whether it is to kick. If want is set, returns true if chains have come in the
 * meantime, which no kick will announce. */
bool ring_want_kick(struct ring *ring, bool want);

#endif
