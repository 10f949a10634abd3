/* SPDX-License-Identifier: MIT */
#include "vsockd/device.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The most packets that one device_pump() handles, and the most calls of core_output() that it
 * makes. */
#define PUMP_INPUTS 128
#define PUMP_OUTPUTS 64

void device_init(struct device *device, struct core *core, uint64_t guest_cid, int epfd,
		 struct log *log)
{
	*device = (struct device){.core = core,
				  .log = log,
				  .epfd = epfd,
				  .guest_cid = guest_cid,
				  .rings = {RING_INIT, RING_INIT}};
}

static void close_kick(struct device *device, struct ring *ring)
{
	/* The watch must be removed before the eventfd is closed, since the front-end has the same
	 * eventfd open. */
	if (ring->kick >= 0) {
		poll_remove(device->epfd, ring->kick);
		close(ring->kick);
	}
	ring->kick = -1;
}

void device_set_call(struct device *device, unsigned queue, int fd)
{
	struct ring *ring = &device->rings[queue];

	if (ring->call >= 0)
		close(ring->call);
	ring->call = fd;
}

int device_set_kick(struct device *device, unsigned queue, int fd, struct error *err)
{
	struct ring *ring = &device->rings[queue];

	close_kick(device, ring);
	ring->kick = fd;
	ring->kicked = true;
	if (fd >= 0 && poll_add(device->epfd, fd, EPOLLIN | EPOLLET,
				(union poll_ref){.index = queue, .type = POLL_KICK}) < 0)
		return error_errno(err, errno, "watch the kicks of queue %u", queue);
	return 0;
}

void device_reset(struct device *device)
{
	for (unsigned i = 0; i < QUEUE_COUNT; i++) {
		device_stop_ring(device, i);
		device_set_call(device, i, -1);
		device->rings[i] = (struct ring)RING_INIT;
	}
	core_link(device->core, false);
	device->features = 0;
}

void device_disconnect(struct device *device)
{
	device_reset(device);
	memory_clear(&device->memory);
	device->protocol_features = 0;
}

int device_map_ring(struct device *device, unsigned queue, struct error *err)
{
	struct ring *ring = &device->rings[queue];

	ring_unmap(ring);
	device->told_broken = false;
	if (ring_map(ring, &device->memory, err) < 0)
		return error_prefix(err, "queue %u", queue);
	return 0;
}

int device_set_base(struct device *device, unsigned queue, uint32_t base, struct error *err)
{
	struct ring *ring = &device->rings[queue];
	bool goes_on = base == ring->taken;

	if (ring_set_base(ring, base, err) < 0)
		return -1;
	if (!goes_on)
		core_link(device->core, false);
	return 0;
}

static void interrupt(const struct ring *ring)
{
	static const uint64_t one = 1;

	/* If the eventfd is full, the VMM has not read an earlier call yet. The guest still gets
	 * the earlier call, so this call is not needed. */
	if (ring->call >= 0 && write(ring->call, &one, sizeof(one)) < 0)
		return;
}

void device_started(struct device *device)
{
	if (!ring_works(&device->rings[QUEUE_RX]) || !ring_works(&device->rings[QUEUE_TX]))
		return;
	if (device->running)
		return;
	device->running = true;
	core_link(device->core, true);
	/* While the machine was paused, its interrupts were not connected, and a call may have been
	 * lost. So both rings interrupt the guest. */
	interrupt(&device->rings[QUEUE_RX]);
	interrupt(&device->rings[QUEUE_TX]);
}

/* --- the guest's packets --------------------------------------------------------------------- */

/* Handles up to `most` packets of the guest. Returns how many chains were taken and given back. */
static unsigned take_inputs(struct device *device, unsigned most)
{
	struct ring *ring = &device->rings[QUEUE_TX];
	uint8_t raw[PACKET_HEADER];
	struct ring_chain chain;
	struct packet packet;
	unsigned n;

	for (n = 0; n < most && core_accepts(device->core); n++) {
		enum ring_result r = ring_take(ring, &device->memory, RING_TO_HOST, device->iov,
					       RING_MAX, &chain);

		if (r == RING_EMPTY)
			break;
		if (r != RING_CHAIN) {
			log_limited(device->log, "the guest sent a malformed descriptor chain");
		} else if (span_read(&chain.span, raw, sizeof(raw)) < sizeof(raw)) {
			log_limited(device->log, "the guest sent a packet shorter than its header");
		} else {
			packet_decode(raw, &packet);
			core_input(device->core, &packet, &chain.span);
		}
		ring_give(ring, chain.head, 0);
	}
	if (n && ring_publish(ring))
		interrupt(ring);
	return n;
}

/* Handles packets of the guest. Returns true if there may be more packets. While there is work, the
 * guest is told not to kick. When the ring is empty, the guest is told to kick again. The ring is
 * then looked at once more: a packet that the guest has added before it saw this request is not
 * announced by a kick. */
static bool pump_inputs(struct device *device)
{
	struct ring *ring = &device->rings[QUEUE_TX];
	unsigned done = 0;

	while (done < PUMP_INPUTS) {
		unsigned n = take_inputs(device, PUMP_INPUTS - done);

		done += n;
		if (n)
			ring_want_kick(ring, false);
		else if (!core_accepts(device->core) || !ring_want_kick(ring, true))
			return false;
	}
	return ring_works(ring);
}

/* --- packets for the guest ------------------------------------------------------------------- */

struct batch {
	unsigned n;
	uint16_t heads[CORE_SLOTS];
	struct span slots[CORE_SLOTS];
	uint32_t lengths[CORE_SLOTS];
};

static void take_slots(struct device *device, struct ring *ring, unsigned wanted,
		       struct batch *batch)
{
	unsigned niov = 0;

	batch->n = 0;
	while (batch->n < wanted && niov < RING_MAX) {
		struct ring_chain chain;
		enum ring_result r = ring_take(ring, &device->memory, RING_TO_GUEST,
					       device->iov + niov, RING_MAX - niov, &chain);

		if (r == RING_EMPTY)
			return;
		if (r == RING_BAD || chain.span.bytes <= PACKET_HEADER) {
			/* Only the chain that was taken first can be given back. A later chain is
			 * put back into the ring, and is given back when it is the first. */
			if (batch->n) {
				ring_rewind(ring, 1);
				return;
			}
			log_limited(
				device->log,
				"the guest offered a receive buffer that is too small for a packet");
			ring_give(ring, chain.head, 0);
			return;
		}
		niov += chain.span.n;
		batch->heads[batch->n] = chain.head;
		batch->slots[batch->n++] = chain.span;
	}
}

/* Calls core_output() once. Returns false if there was nothing to send, or if the guest had no
 * room. */
static bool output_batch(struct device *device, struct ring *ring)
{
	unsigned wanted = core_wants(device->core), filled;
	struct batch batch;

	if (!wanted)
		return false;
	take_slots(device, ring, wanted, &batch);
	if (!batch.n)
		return false;
	filled = core_output(device->core, batch.slots, batch.n, batch.lengths);
	for (unsigned i = 0; i < filled; i++)
		ring_give(ring, batch.heads[i], batch.lengths[i]);
	ring_rewind(ring, batch.n - filled);
	return filled > 0;
}

static bool pump_outputs(struct device *device)
{
	struct ring *ring = &device->rings[QUEUE_RX];
	uint16_t before = ring->given;
	bool more = true;

	/* Asks the guest for kicks only while packets wait for which the guest offers no buffers.
	 * If the guest has offered buffers meanwhile, ring_want_kick() returns true and the loop
	 * goes on. */
	for (unsigned round = 0; more && round < PUMP_OUTPUTS; round++)
		more = output_batch(device, ring) ||
		       ring_want_kick(ring, core_wants(device->core) > 0);
	if (ring->given != before && ring_publish(ring))
		interrupt(ring);
	return more && ring_works(ring);
}

/* --- both ------------------------------------------------------------------------------------ */

bool device_pump(struct device *device)
{
	bool more = false, blocked = false;

	if (ring_works(&device->rings[QUEUE_TX])) {
		more = pump_inputs(device);
		blocked = !core_accepts(device->core);
	}
	if (ring_works(&device->rings[QUEUE_RX]))
		more |= pump_outputs(device);
	for (unsigned i = 0; i < QUEUE_COUNT && !device->told_broken; i++)
		if (device->rings[i].broken) {
			log_limited(device->log, "queue %u is broken: its indices are not possible",
				    i);
			device->told_broken = true;
		}
	return more || (blocked && core_accepts(device->core));
}

uint16_t device_stop_ring(struct device *device, unsigned queue)
{
	struct ring *ring = &device->rings[queue];

	if (queue == QUEUE_TX)
		take_inputs(device, ring->num);
	device->running = false;
	ring->kicked = false;
	close_kick(device, ring);
	ring_unmap(ring);
	return ring->taken;
}
