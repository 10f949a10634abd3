/* SPDX-License-Identifier: MIT */
#include "guest.h"

enum { MMIO_BASE = 0xfeb00000, MMIO_STEP = 512, MMIO_SLOTS = 24 };
enum { VIRTIO_VSOCK = 19, PCI_VSOCK = 0x10531af4, PCI_MEMORY = 0xd0000000 };
enum { STARTED = 1 | 2, FEATURES_OK = 8, DRIVER_OK = 4 }; /* of the status */

struct desc {
	uint64_t at;
	uint32_t len;
	uint16_t flags, next;
};

static struct queue {
	struct desc desc[QUEUE_SIZE];
	struct {
		uint16_t flags;
		volatile uint16_t index;
		uint16_t ring[QUEUE_SIZE];
	} avail;
	struct {
		uint16_t flags;
		volatile uint16_t index;
		struct {
			uint32_t id, len;
		} ring[QUEUE_SIZE];
	} __attribute__((aligned(8))) used;
	uint16_t seen;
	uintptr_t doorbell;
} __attribute__((aligned(4096))) queues[QUEUES];

static uintptr_t mmio;		 /* virtio-mmio's registers, or 0 */
static uintptr_t common, config; /* PCI's structures */
static uintptr_t notify;
static uint32_t notify_step;

#define REG8(at) (*(volatile uint8_t *)(at))
#define REG16(at) (*(volatile uint16_t *)(at))

/* --- virtio-mmio ----------------------------------------------------------------------------- */

static bool find_mmio(void)
{
	for (unsigned slot = 0; slot < MMIO_SLOTS; slot++) {
		uintptr_t at = MMIO_BASE + slot * MMIO_STEP;

		if (mmio_read(at) != 0x74726976 || mmio_read(at + 8) != VIRTIO_VSOCK)
			continue;
		mmio = at;
		config = at + 0x100;
		route_vsock(slot);
		return true;
	}
	return false;
}

static void set_address(uintptr_t at, const volatile void *what)
{
	mmio_write(at, (uintptr_t)what);
	mmio_write(at + 4, 0);
}

static void open_mmio_queue(unsigned number, struct queue *queue)
{
	mmio_write(mmio + 0x30, number);
	mmio_write(mmio + 0x38, QUEUE_SIZE);
	set_address(mmio + 0x80, queue->desc);
	set_address(mmio + 0x90, &queue->avail);
	set_address(mmio + 0xa0, &queue->used);
	mmio_write(mmio + 0x44, 1);
	queue->doorbell = mmio + 0x50;
}

/* --- PCI ------------------------------------------------------------------------------------- */

/* Uses the address of the BAR that a firmware has set, or finds room for it. */
static uintptr_t bar(unsigned device, unsigned number)
{
	unsigned offset = 0x10 + 4 * number;
	uint32_t low = pci_read(device, offset) & ~15u, high = pci_read(device, offset + 4);
	bool wide = (pci_read(device, offset) & 6) == 4;

	if (low == 0 || (wide && high != 0)) {
		low = PCI_MEMORY + (number << 20);
		pci_write(device, offset, low);
		if (wide)
			pci_write(device, offset + 4, 0);
	}
	return low;
}

static void open_msix(unsigned device, unsigned capability)
{
	uint32_t table = pci_read(device, capability + 4);
	uintptr_t entry = bar(device, table & 7) + (table & ~7u);

	mmio_write(entry, APIC);
	mmio_write(entry + 4, 0);
	mmio_write(entry + 8, VECTOR_VSOCK);
	mmio_write(entry + 12, 0);
	pci_write(device, capability, pci_read(device, capability) | 1u << 31);
}

static void take_capability(unsigned device, unsigned at)
{
	uint32_t head = pci_read(device, at);

	if ((head & 0xff) == 0x11)
		open_msix(device, at);
	if ((head & 0xff) != 9)
		return;
	uintptr_t where = bar(device, pci_read(device, at + 4) & 7) + pci_read(device, at + 8);
	switch (head >> 24) {
	case 1:
		common = where;
		break;
	case 2:
		notify = where;
		notify_step = pci_read(device, at + 16);
		break;
	case 4:
		config = where;
		break;
	}
}

static bool find_pci(void)
{
	unsigned device = 0;

	while (device < 256 && pci_read(device, 0) != PCI_VSOCK)
		device += 8;
	if (device == 256)
		return false;
	pci_write(device, 4, pci_read(device, 4) | 6); /* memory, and it may write to ours */
	for (unsigned at = pci_read(device, 0x34) & 0xfc; at; at = pci_read(device, at) >> 8 & 0xfc)
		take_capability(device, at);
	return common && notify && config;
}

static void open_pci_queue(unsigned number, struct queue *queue)
{
	REG16(common + 0x16) = (uint16_t)number;
	REG16(common + 0x18) = QUEUE_SIZE;
	REG16(common + 0x1a) = number == QUEUE_RX ? 0 : 0xffff;
	set_address(common + 0x20, queue->desc);
	set_address(common + 0x28, &queue->avail);
	set_address(common + 0x30, &queue->used);
	queue->doorbell = notify + REG16(common + 0x1e) * notify_step;
	REG16(common + 0x1c) = 1;
}

/* --- both ------------------------------------------------------------------------------------ */

static void set_status(uint8_t status)
{
	if (mmio)
		mmio_write(mmio + 0x70, status);
	else
		REG8(common + 0x14) = status;
}

/* Accepts VERSION_1, bit 32, and no other feature. */
static void agree_on_features(void)
{
	for (unsigned half = 0; half < 2; half++) {
		mmio_write(mmio ? mmio + 0x24 : common + 8, half);
		mmio_write(mmio ? mmio + 0x20 : common + 12, half);
	}
}

bool virtio_begin(uint64_t *cid)
{
	if (machine_is_q35() ? !find_pci() : !find_mmio())
		return false;
	set_status(0);
	set_status(STARTED);
	agree_on_features();
	set_status(STARTED | FEATURES_OK);
	for (unsigned i = 0; i < QUEUES; i++) {
		if (mmio)
			open_mmio_queue(i, &queues[i]);
		else
			open_pci_queue(i, &queues[i]);
	}
	set_status(STARTED | FEATURES_OK | DRIVER_OK);
	*cid = mmio_read(config) | (uint64_t)mmio_read(config + 4) << 32;
	return true;
}

void virtio_acknowledge(void)
{
	if (mmio)
		mmio_write(mmio + 0x64, mmio_read(mmio + 0x60));
}

void virtio_put(unsigned queue, unsigned number, const void *bytes, uint32_t len, bool writable)
{
	struct queue *q = &queues[queue];

	q->desc[number] = (struct desc){(uintptr_t)bytes, len, writable ? 2 : 0, 0};
	q->avail.ring[q->avail.index % QUEUE_SIZE] = (uint16_t)number;
	__asm__ volatile("" : : : "memory");
	q->avail.index++;
}

void virtio_kick(unsigned queue)
{
	if (mmio)
		mmio_write(queues[queue].doorbell, queue);
	else
		REG16(queues[queue].doorbell) = (uint16_t)queue;
}

int virtio_take(unsigned queue, uint32_t *len)
{
	struct queue *q = &queues[queue];

	if (q->seen == q->used.index)
		return -1;
	__asm__ volatile("" : : : "memory");
	unsigned at = q->seen++ % QUEUE_SIZE;
	*len = q->used.ring[at].len;
	return (int)q->used.ring[at].id;
}
