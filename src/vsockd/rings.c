/* SPDX-License-Identifier: MIT */
#include "vsockd/rings.h"

#include <endian.h>
#include <linux/virtio_ring.h>
#include <stddef.h>

int ring_set_num(struct ring *ring, uint32_t num, struct error *err)
{
	if (!num || num > RING_MAX || (num & (num - 1)))
		return error_set(
			err, ERR_INVALID,
			"QEMU gave a queue of the vsock device %u descriptors, but their number must be a power of two up to %d: this is a bug, or QEMU was taken over",
			num, RING_MAX);
	ring->num = num;
	return 0;
}

int ring_set_base(struct ring *ring, uint32_t base, struct error *err)
{
	if (base > UINT16_MAX)
		return error_set(
			err, ERR_INVALID,
			"QEMU gave a queue of the vsock device the index %u, but the highest is 65535: this is a bug, or QEMU was taken over",
			base);
	ring->taken = ring->given = ring->offered = (uint16_t)base;
	return 0;
}

/* Finds one of the three parts of a ring in guest memory. Returns NULL if the part is not within
 * one region of the memory, or is not aligned as the standard requires: atomic access depends on
 * the alignment. */
static void *find_part(const struct memory *memory, uint64_t user, uint64_t len, unsigned align)
{
	void *p = memory_user(memory, user, len);

	return p && (uintptr_t)p % align == 0 ? p : NULL;
}

int ring_map(struct ring *ring, const struct memory *memory, struct error *err)
{
	const struct ring_address *a = &ring->address;
	size_t num = ring->num;
	void *desc = find_part(memory, a->desc, num * sizeof(struct vring_desc), 16);
	void *avail = find_part(memory, a->avail, sizeof(struct vring_avail) + 2 * num, 2);
	void *used = find_part(memory, a->used,
			       sizeof(struct vring_used) + num * sizeof(struct vring_used_elem), 4);

	if (!num || !ring->addressed || !desc || !avail || !used)
		return error_set(
			err, ERR_INVALID,
			"a queue of the vsock device does not lie completely in the guest's memory: this is a bug, or the guest or QEMU was taken over");
	ring->desc = desc;
	ring->avail = avail;
	ring->used = used;
	ring->broken = false;
	ring->offered = ring->taken;
	/* When a ring goes on after a pause, the flag that asks the guest not to kick may still be
	 * set, so it is cleared. */
	ring->quiet = false;
	__atomic_store_n(&ring->used->flags, 0, __ATOMIC_RELAXED);
	return 0;
}

void ring_unmap(struct ring *ring)
{
	ring->desc = NULL;
	ring->avail = NULL;
	ring->used = NULL;
}

bool ring_works(const struct ring *ring)
{
	return ring->used && ring->kicked && ring->enabled && !ring->broken;
}

/* Returns true if a chain can be taken. Reads the guest's index at most once. */
static bool ring_waiting(struct ring *ring)
{
	if (ring->taken != ring->offered)
		return true;
	/* Acquire: everything that the guest has written before it wrote the index is visible after
	 * this read. */
	ring->offered = le16toh(__atomic_load_n(&ring->avail->idx, __ATOMIC_ACQUIRE));
	if ((uint16_t)(ring->offered - ring->given) > ring->num)
		ring->broken = true;
	return !ring->broken && ring->taken != ring->offered;
}

/* Adds `len` bytes of guest memory from the address `at` to iov, as one iovec for each region.
 * Returns false if a part of the bytes is outside the memory, or if iov is full. */
static bool add_pieces(const struct memory *memory, uint64_t at, uint32_t len, struct iovec *iov,
		       unsigned max, struct span *span)
{
	while (len) {
		uint64_t run;
		void *p = memory_guest(memory, at, len, &run);

		if (!p || span->n == max)
			return false;
		iov[span->n++] = (struct iovec){.iov_base = p, .iov_len = run};
		span->bytes += run;
		at += run;
		len -= (uint32_t)run;
	}
	return true;
}

/* Copies a descriptor of the ring into the daemon's own memory. The guest may change the original
 * at any time. */
static struct vring_desc copy_desc(const struct ring *ring, unsigned index)
{
	const volatile struct vring_desc *d = &ring->desc[index & (ring->num - 1)];

	return (struct vring_desc){.addr = le64toh(d->addr),
				   .len = le32toh(d->len),
				   .flags = le16toh(d->flags),
				   .next = le16toh(d->next)};
}

/* Reads all descriptors of a chain. Returns false if the chain is malformed. A chain with an
 * indirect table is malformed too, since the device does not offer indirect tables. */
static bool walk_chain(const struct ring *ring, const struct memory *memory,
		       enum ring_direction direction, struct iovec *iov, unsigned max,
		       struct ring_chain *chain)
{
	uint16_t wanted = direction == RING_TO_GUEST ? VRING_DESC_F_WRITE : 0;
	unsigned index = chain->head;

	for (unsigned left = ring->num; left; left--) {
		struct vring_desc d = copy_desc(ring, index);

		if (d.flags & VRING_DESC_F_INDIRECT || (d.flags & VRING_DESC_F_WRITE) != wanted)
			return false;
		if (!add_pieces(memory, d.addr, d.len, iov, max, &chain->span))
			return false;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return true;
		if (d.next >= ring->num)
			return false;
		index = d.next;
	}
	return false; /* the chain never ends, so it is a loop */
}

enum ring_result ring_take(struct ring *ring, const struct memory *memory,
			   enum ring_direction direction, struct iovec *iov, unsigned max,
			   struct ring_chain *chain)
{
	uint16_t head;

	if (!ring_works(ring) || !ring_waiting(ring))
		return RING_EMPTY;
	head = le16toh(__atomic_load_n(&ring->avail->ring[ring->taken & (ring->num - 1)],
				       __ATOMIC_RELAXED));
	if (head >= ring->num) {
		ring->broken = true;
		return RING_EMPTY;
	}
	ring->taken++;
	*chain = (struct ring_chain){.head = head, .span = {.iov = iov}};
	return walk_chain(ring, memory, direction, iov, max, chain) ? RING_CHAIN : RING_BAD;
}

void ring_rewind(struct ring *ring, unsigned n)
{
	ring->taken = (uint16_t)(ring->taken - n);
}

void ring_give(struct ring *ring, uint16_t head, uint32_t len)
{
	volatile struct vring_used_elem *e = &ring->used->ring[ring->given & (ring->num - 1)];

	e->id = htole32(head);
	e->len = htole32(len);
	ring->given++;
}

bool ring_publish(struct ring *ring)
{
	/* Release: the guest sees the elements and the contents of the buffers before it sees the
	 * index. */
	__atomic_store_n(&ring->used->idx, htole16(ring->given), __ATOMIC_RELEASE);
	/* Full barrier. The guest turns interrupts on and then reads the index. The daemon writes
	 * the index and then reads whether interrupts are on. With the barrier at least one of the
	 * two sees what the other has written. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !(le16toh(__atomic_load_n(&ring->avail->flags, __ATOMIC_RELAXED)) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}

bool ring_want_kick(struct ring *ring, bool want)
{
	if (!ring_works(ring))
		return false;
	if (ring->quiet == want) {
		ring->quiet = !want;
		__atomic_store_n(&ring->used->flags, htole16(want ? 0 : VRING_USED_F_NO_NOTIFY),
				 __ATOMIC_RELAXED);
		if (want)
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	return want && ring_waiting(ring);
}
