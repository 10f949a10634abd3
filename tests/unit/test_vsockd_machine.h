/* SPDX-License-Identifier: MIT */
/*
 * Things that the tests of the device share: a front-end that sends messages, and a driver that
 * owns a guest's memory with two rings in it.
 */
#ifndef TEST_VSOCKD_MACHINE_H
#define TEST_VSOCKD_MACHINE_H

#include "test_vsockd.h"

#include <linux/virtio_ring.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "vsockd/device.h"
#include "vsockd/vhost_link.h"

enum {
	GET_FEATURES = 1,
	SET_FEATURES = 2,
	SET_OWNER = 3,
	RESET_OWNER = 4,
	SET_MEM_TABLE = 5,
	SET_VRING_NUM = 8,
	SET_VRING_ADDR = 9,
	SET_VRING_BASE = 10,
	GET_VRING_BASE = 11,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	SET_VRING_ERR = 14,
	GET_PROTOCOL_FEATURES = 15,
	SET_PROTOCOL_FEATURES = 16,
	GET_QUEUE_NUM = 17,
	SET_VRING_ENABLE = 18,
	SET_SLAVE_REQ_FD = 21,
	GET_CONFIG = 24,
	RESET_DEVICE = 34,
};
#define NEED_REPLY 8u
#define VERSION_1 (UINT64_C(1) << 32)
#define PROTOCOL (UINT64_C(1) << 30)
#define REPLY_ACK (UINT64_C(1) << 3)

/* Guest memory: both rings, then buffers. The front-end's addresses are GUEST + USER. */
#define NUM 16
#define MEMORY 0x100000u
#define GUEST 0x40000000u
#define USER UINT64_C(0x7000000000)
#define RING_AT(q) ((q)*0x4000u)
#define AVAIL_AT 0x1000u
#define USED_AT 0x2000u
#define BUFFER_AT(i) (0x10000u + 0x2000u * (i))

struct machine {
	struct rig *rig;
	struct device device;
	struct vhost_reply reply;
	struct error err;
	int memfd;
	uint8_t *ram; /* the guest's view */
	int kick[2];
	int call[2];
	uint16_t used[2]; /* what the driver has seen */
};

static inline int machine_setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	void *rig;

	m->rig = rig_make(&rig, 16);
	core_link(&m->rig->core, false);
	device_init(&m->device, &m->rig->core, GUEST_CID, m->rig->epfd, &m->rig->log);
	m->memfd = memfd_create("ram", MFD_CLOEXEC);
	assert_int_equal(ftruncate(m->memfd, MEMORY), 0);
	m->ram = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, m->memfd, 0);
	for (int i = 0; i < 2; i++) {
		m->kick[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		m->call[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	*state = m;
	return 0;
}

static inline int machine_teardown(void **state)
{
	struct machine *m = *state;
	void *rig = m->rig;

	device_disconnect(&m->device);
	munmap(m->ram, MEMORY);
	for (int i = 0; i < 2; i++) {
		close(m->kick[i]);
		close(m->call[i]);
	}
	close(m->memfd);
	free(m);
	return rig_teardown(&rig);
}

/* --- messages -------------------------------------------------------------------------------- */

static inline struct vhost_message make_message(uint32_t request, const void *payload,
						uint32_t size)
{
	struct vhost_message msg = {.request = request, .flags = 1, .size = size};

	if (size)
		memcpy(msg.payload, payload, size);
	return msg;
}

/* Sends a copy of the descriptor too (-1: none). */
static inline int send_fd(struct machine *m, uint32_t request, const void *payload, uint32_t size,
			  int fd)
{
	struct vhost_message msg = make_message(request, payload, size);

	if (fd >= 0) {
		msg.fds[0] = dup(fd);
		msg.nfds = 1;
	}
	return vhost_user_handle(&m->device, &msg, &m->reply, &m->err);
}

static inline int send_message(struct machine *m, uint32_t request, const void *payload,
			       uint32_t size)
{
	return send_fd(m, request, payload, size, -1);
}

static inline int send_u64(struct machine *m, uint32_t request, uint64_t value)
{
	return send_message(m, request, &value, sizeof(value));
}

static inline int send_state(struct machine *m, uint32_t request, uint32_t index, uint32_t num)
{
	const uint32_t state[2] = {index, num};

	return send_message(m, request, state, sizeof(state));
}

static inline uint64_t reply_u64(const struct machine *m)
{
	uint32_t header[3];
	uint64_t value;

	assert_int_equal(m->reply.size, VHOST_HEADER + 8);
	memcpy(header, m->reply.bytes, sizeof(header));
	assert_int_equal(header[1], 5); /* version 1, a reply */
	assert_int_equal(header[2], 8);
	memcpy(&value, m->reply.bytes + VHOST_HEADER, sizeof(value));
	return value;
}

static inline int send_table(struct machine *m, uint32_t n, uint32_t nfds, uint32_t size)
{
	struct vhost_message msg = {.request = SET_MEM_TABLE, .flags = 1, .size = size};
	const struct memory_region region = {GUEST, MEMORY, USER, 0};

	memcpy(msg.payload, &n, sizeof(n));
	memcpy(msg.payload + 8, &region, sizeof(region));
	for (msg.nfds = 0; msg.nfds < nfds; msg.nfds++)
		msg.fds[msg.nfds] = dup(m->memfd);
	return vhost_user_handle(&m->device, &msg, &m->reply, &m->err);
}

static inline void share_memory(struct machine *m)
{
	assert_int_equal(send_table(m, 1, 1, 40), 0);
}

static inline int send_address(struct machine *m, uint32_t q)
{
	uint64_t base = USER + RING_AT(q);
	const struct {
		uint32_t index, flags;
		uint64_t desc, used, avail, log;
	} a = {q, 0, base, base + USED_AT, base + AVAIL_AT, 0};

	return send_message(m, SET_VRING_ADDR, &a, sizeof(a));
}

static inline void start_ring(struct machine *m, uint32_t q, uint32_t base)
{
	const uint64_t index = q;

	assert_int_equal(send_state(m, SET_VRING_NUM, q, NUM), 0);
	assert_int_equal(send_state(m, SET_VRING_BASE, q, base), 0);
	assert_int_equal(send_address(m, q), 0);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &index, 8, m->kick[q]), 0);
	assert_int_equal(send_fd(m, SET_VRING_CALL, &index, 8, m->call[q]), 0);
}

static inline void start_all(struct machine *m)
{
	assert_int_equal(send_u64(m, SET_FEATURES, VERSION_1 | PROTOCOL), 0);
	share_memory(m);
	for (uint32_t q = 0; q < 2; q++)
		start_ring(m, q, 0);
	assert_false(m->device.running);
	for (uint32_t q = 0; q < 2; q++)
		assert_int_equal(send_state(m, SET_VRING_ENABLE, q, 1), 0);
	assert_true(m->device.running);
}

/* --- the driver ------------------------------------------------------------------------------ */

static inline struct vring_desc *desc_of(struct machine *m, unsigned q)
{
	return (struct vring_desc *)(void *)(m->ram + RING_AT(q));
}

static inline struct vring_avail *avail_of(struct machine *m, unsigned q)
{
	return (struct vring_avail *)(void *)(m->ram + RING_AT(q) + AVAIL_AT);
}

static inline struct vring_used *used_of(struct machine *m, unsigned q)
{
	return (struct vring_used *)(void *)(m->ram + RING_AT(q) + USED_AT);
}

static inline void offer(struct machine *m, unsigned q, uint16_t head)
{
	struct vring_avail *a = avail_of(m, q);

	a->ring[a->idx % NUM] = head;
	__atomic_store_n(&a->idx, (uint16_t)(a->idx + 1), __ATOMIC_RELEASE);
}

static inline void give_receive_buffers(struct machine *m)
{
	for (uint16_t i = 0; i < NUM; i++) {
		desc_of(m, 0)[i] = (struct vring_desc){
			.addr = GUEST + BUFFER_AT(i), .len = 0x1000, .flags = VRING_DESC_F_WRITE};
		offer(m, 0, i);
	}
}

static inline void driver_send(struct machine *m, const struct packet *p, const char *payload)
{
	uint32_t at = BUFFER_AT(NUM);

	packet_encode(p, m->ram + at);
	memcpy(m->ram + at + PACKET_HEADER, payload, p->len);
	desc_of(m, 1)[0] = (struct vring_desc){.addr = GUEST + at, .len = PACKET_HEADER + p->len};
	offer(m, 1, 0);
	while (device_pump(&m->device))
		;
	assert_int_equal(used_of(m, 1)->idx, avail_of(m, 1)->idx);
}

/* Returns the next packet in the receive ring, and offers its buffer again at once. */
static inline bool driver_receive(struct machine *m, struct packet *p, const uint8_t **payload)
{
	struct vring_used *u = used_of(m, 0);
	uint32_t id;

	rig_events(m->rig);
	while (device_pump(&m->device))
		;
	if (u->idx == m->used[0])
		return false;
	id = u->ring[m->used[0]++ % NUM].id;
	packet_decode(m->ram + BUFFER_AT(id), p);
	*payload = m->ram + BUFFER_AT(id) + PACKET_HEADER;
	offer(m, 0, (uint16_t)id);
	return true;
}

static inline void driver_expect(struct machine *m, struct packet *p, unsigned op)
{
	const uint8_t *payload;

	assert_true(driver_receive(m, p, &payload));
	assert_int_equal(p->op, op);
}

static inline uint64_t calls(struct machine *m, unsigned q)
{
	uint64_t n;

	return read(m->call[q], &n, sizeof(n)) < 0 ? 0 : n;
}

/* From now on the log goes to a file of the test. */
static inline int watch_log(struct machine *m)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	log_init(&m->rig->log, fd, 1 << 16);
	return fd;
}

static inline unsigned lines_logged(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	unsigned lines = 0;

	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

#define machine_test(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)

#endif
