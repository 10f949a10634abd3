/* SPDX-License-Identifier: MIT */
#include "vsockd/vhost_user.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum vhost_request {
	VHOST_GET_FEATURES = 1,
	VHOST_SET_FEATURES = 2,
	VHOST_SET_OWNER = 3,
	VHOST_RESET_OWNER = 4,
	VHOST_SET_MEM_TABLE = 5,
	VHOST_SET_VRING_NUM = 8,
	VHOST_SET_VRING_ADDR = 9,
	VHOST_SET_VRING_BASE = 10,
	VHOST_GET_VRING_BASE = 11,
	VHOST_SET_VRING_KICK = 12,
	VHOST_SET_VRING_CALL = 13,
	VHOST_SET_VRING_ERR = 14,
	VHOST_GET_PROTOCOL_FEATURES = 15,
	VHOST_SET_PROTOCOL_FEATURES = 16,
	VHOST_GET_QUEUE_NUM = 17,
	VHOST_SET_VRING_ENABLE = 18,
	VHOST_GET_CONFIG = 24,
	VHOST_RESET_DEVICE = 34,
	VHOST_REQUEST_COUNT
};

#define FLAG_VERSION_MASK 3u
#define FLAG_VERSION 1u
#define FLAG_REPLY 4u
#define FLAG_NEED_REPLY 8u

#define VRING_INDEX 0xffu
#define VRING_NO_FD 0x100u
/* The number of the event queue, which the front-end handles itself. A message about this queue
 * changes nothing here. */
#define QUEUE_EVENT 2
#define QUEUES_MENTIONED 3

#define PROTOCOL_BIT (UINT64_C(1) << 30) /* VHOST_USER_F_PROTOCOL_FEATURES */
#define FEATURES (UINT64_C(1) << VIRTIO_F_VERSION_1 | PROTOCOL_BIT)

#define PROTOCOL_MQ (UINT64_C(1) << 0)
#define PROTOCOL_REPLY_ACK (UINT64_C(1) << 3)
#define PROTOCOL_CONFIG (UINT64_C(1) << 9)
#define PROTOCOL_RESET_DEVICE (UINT64_C(1) << 13)
#define PROTOCOL_FEATURES \
	(PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_CONFIG | PROTOCOL_RESET_DEVICE)

#define CONFIG_HEADER 12
#define CONFIG_SPACE 8 /* size in bytes of struct virtio_vsock_config, which has the guest's CID */

/* --- payloads -------------------------------------------------------------------------------- */

static uint32_t get32(const struct vhost_message *m, size_t at)
{
	uint32_t v;

	memcpy(&v, m->payload + at, sizeof(v));
	return v;
}

static uint64_t get64(const struct vhost_message *m, size_t at)
{
	uint64_t v;

	memcpy(&v, m->payload + at, sizeof(v));
	return v;
}

static void put_reply(struct vhost_reply *reply, uint32_t request, const void *payload,
		      uint32_t size)
{
	const uint32_t header[3] = {request, FLAG_VERSION | FLAG_REPLY, size};

	memcpy(reply->bytes, header, VHOST_HEADER);
	memcpy(reply->bytes + VHOST_HEADER, payload, size);
	reply->size = VHOST_HEADER + size;
}

static void reply64(struct vhost_reply *reply, const struct vhost_message *m, uint64_t value)
{
	put_reply(reply, m->request, &value, sizeof(value));
}

static int take_fd(struct vhost_message *m)
{
	return m->nfds ? steal_fd(&m->fds[0]) : -1;
}

/* --- the requests ---------------------------------------------------------------------------- */

/* Handles a message. For a message about the event queue the function is called only if it makes
 * the answer itself. */
typedef int request_fn(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
		       struct error *err);

static int set_features(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			struct error *err)
{
	uint64_t features = get64(m, 0);

	(void)reply;
	if (features & ~FEATURES)
		return error_set(
			err, ERR_UNSUPPORTED,
			"QEMU turned on features of the vsock device that were not offered (0x%llx): this is a bug, or QEMU was taken over",
			(unsigned long long)(features & ~FEATURES));
	device->features = features;
	/* Without this bit there is no SET_VRING_ENABLE, so the rings are enabled now. */
	for (unsigned i = 0; i < QUEUE_COUNT && !(features & PROTOCOL_BIT); i++)
		device->rings[i].enabled = true;
	device_started(device);
	return 0;
}

static int set_protocol_features(struct device *device, struct vhost_message *m,
				 struct vhost_reply *reply, struct error *err)
{
	uint64_t features = get64(m, 0);

	(void)reply;
	if (features & ~PROTOCOL_FEATURES)
		return error_set(
			err, ERR_UNSUPPORTED,
			"QEMU turned on features of the vhost-user protocol that were not offered (0x%llx): this is a bug, or QEMU was taken over",
			(unsigned long long)(features & ~PROTOCOL_FEATURES));
	device->protocol_features = features;
	return 0;
}

/* Accepts a message that needs no action. SET_OWNER: the daemon keeps no record of an owner.
 * SET_VRING_ERR: the daemon reports errors of a ring not to a descriptor, but by giving the bad
 * chain back. */
static int accept_only(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
		       struct error *err)
{
	(void)device, (void)m, (void)reply, (void)err;
	return 0;
}

static int reset(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
		 struct error *err)
{
	(void)m, (void)reply, (void)err;
	device_reset(device);
	return 0;
}

static int set_mem_table(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			 struct error *err)
{
	struct memory_region regions[MEMORY_REGIONS];
	uint32_t n = get32(m, 0);

	(void)reply;
	if (n > MEMORY_REGIONS || n != m->nfds || m->size != 8 + n * sizeof(regions[0]))
		return error_set(
			err, ERR_INVALID,
			"QEMU's table of the guest's memory is malformed: it has %u regions with %u descriptors in %u bytes; this is a bug, or QEMU was taken over",
			n, m->nfds, m->size);
	memcpy(regions, m->payload + 8, n * sizeof(regions[0]));
	if (memory_set(&device->memory, regions, m->fds, n, err) < 0)
		return -1;
	/* The parts of the rings are found again in the new table of memory. The new table must
	 * contain each ring that is running. */
	for (unsigned i = 0; i < QUEUE_COUNT; i++)
		ring_unmap(&device->rings[i]);
	for (unsigned i = 0; i < QUEUE_COUNT; i++)
		if (device->rings[i].kicked && device_map_ring(device, i, err) < 0)
			return -1;
	return 0;
}

static int set_vring_num(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			 struct error *err)
{
	uint32_t index = get32(m, 0);

	(void)reply;
	return ring_set_num(&device->rings[index], get32(m, 4), err);
}

/* Handles a payload of the numbers u32 index, flags; u64 descriptors, used, available, log. The log
 * is not used, since the device does not offer it. */
static int set_vring_addr(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			  struct error *err)
{
	uint32_t index = get32(m, 0);
	struct ring *ring = &device->rings[index];

	(void)reply;
	ring->address = (struct ring_address){
		.desc = get64(m, 8), .used = get64(m, 16), .avail = get64(m, 24)};
	ring->addressed = true;
	return ring->kicked ? device_map_ring(device, index, err) : 0;
}

static int set_vring_base(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			  struct error *err)
{
	uint32_t index = get32(m, 0);

	(void)reply;
	return device_set_base(device, index, get32(m, 4), err);
}

static int get_vring_base(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			  struct error *err)
{
	uint32_t state[2] = {get32(m, 0), 0};

	(void)err;
	if (state[0] != QUEUE_EVENT)
		state[1] = device_stop_ring(device, state[0]);
	put_reply(reply, m->request, state, sizeof(state));
	return 0;
}

static int set_vring_kick(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			  struct error *err)
{
	uint32_t index = (uint32_t)get64(m, 0) & VRING_INDEX;

	(void)reply;
	if (device_map_ring(device, index, err) < 0)
		return -1;
	if (!(device->features & PROTOCOL_BIT))
		device->rings[index].enabled = true;
	if (device_set_kick(device, index, take_fd(m), err) < 0)
		return -1;
	device_started(device);
	return 0;
}

static int set_vring_call(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
			  struct error *err)
{
	uint32_t index = (uint32_t)get64(m, 0) & VRING_INDEX;
	int fd = take_fd(m);

	(void)reply;
	device_set_call(device, index, fd);
	/* QEMU's own eventfds never block. A front-end that makes this eventfd block again delays
	 * only the device of its own guest. */
	if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_errno(err, errno, "the interrupt of queue %u", index);
	return 0;
}

static int set_vring_enable(struct device *device, struct vhost_message *m,
			    struct vhost_reply *reply, struct error *err)
{
	uint32_t index = get32(m, 0);

	(void)reply, (void)err;
	device->rings[index].enabled = get32(m, 4) != 0;
	device_started(device);
	return 0;
}

/* Handles a payload of the numbers u32 offset, size, flags, followed by size bytes. */
static int get_config(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
		      struct error *err)
{
	uint32_t offset = get32(m, 0), size = get32(m, 4);
	uint64_t space = htole64(device->guest_cid);

	if (size != m->size - CONFIG_HEADER || size > CONFIG_SPACE || offset > CONFIG_SPACE - size)
		return error_set(
			err, ERR_INVALID,
			"QEMU asked for a part of the vsock device's config that does not exist: byte %u, %u bytes long, and the config has %d bytes; this is a bug, or QEMU was taken over",
			offset, size, CONFIG_SPACE);
	memcpy(m->payload + CONFIG_HEADER, (const uint8_t *)&space + offset, size);
	put_reply(reply, m->request, m->payload, m->size);
	return 0;
}

enum queue_at { QUEUE_NOT_NAMED, QUEUE_IN_32, QUEUE_IN_64 };

static const struct request_row {
	const char *name; /* the name of the message; NULL: the message is not known */
	request_fn *fn;	  /* handles the message; NULL: nothing is done, and `answer` is the
			   * answer */
	uint64_t answer;
	uint32_t min;	     /* the least number of bytes of the payload */
	uint32_t max;	     /* the greatest number of bytes of the payload */
	enum queue_at queue; /* the part of the payload that has the number of a queue */
	bool fd_for_queue;   /* the message has one descriptor, unless its payload says that there
			      * is none */
	bool stopped;	     /* the message is allowed only while the queue is not in use */
	/* The message always gets an answer, which is `answer` or is made by `fn`. */
	bool replies;
} requests[] = {
	[VHOST_GET_FEATURES] = {.name = "GET_FEATURES", .answer = FEATURES, .replies = true},
	[VHOST_SET_FEATURES] = {.name = "SET_FEATURES", .fn = set_features, .min = 8, .max = 8},
	[VHOST_SET_OWNER] = {.name = "SET_OWNER", .fn = accept_only},
	[VHOST_RESET_OWNER] = {.name = "RESET_OWNER", .fn = reset},
	[VHOST_SET_MEM_TABLE] = {.name = "SET_MEM_TABLE",
				 .fn = set_mem_table,
				 .min = 8,
				 .max = 8 + MEMORY_REGIONS * 32},
	[VHOST_SET_VRING_NUM] = {.name = "SET_VRING_NUM",
				 .fn = set_vring_num,
				 .min = 8,
				 .max = 8,
				 .queue = QUEUE_IN_32,
				 .stopped = true},
	[VHOST_SET_VRING_ADDR] = {.name = "SET_VRING_ADDR",
				  .fn = set_vring_addr,
				  .min = 40,
				  .max = 40,
				  .queue = QUEUE_IN_32},
	[VHOST_SET_VRING_BASE] = {.name = "SET_VRING_BASE",
				  .fn = set_vring_base,
				  .min = 8,
				  .max = 8,
				  .queue = QUEUE_IN_32,
				  .stopped = true},
	[VHOST_GET_VRING_BASE] = {.name = "GET_VRING_BASE",
				  .fn = get_vring_base,
				  .min = 8,
				  .max = 8,
				  .queue = QUEUE_IN_32,
				  .replies = true},
	[VHOST_SET_VRING_KICK] = {.name = "SET_VRING_KICK",
				  .fn = set_vring_kick,
				  .min = 8,
				  .max = 8,
				  .queue = QUEUE_IN_64,
				  .fd_for_queue = true},
	[VHOST_SET_VRING_CALL] = {.name = "SET_VRING_CALL",
				  .fn = set_vring_call,
				  .min = 8,
				  .max = 8,
				  .queue = QUEUE_IN_64,
				  .fd_for_queue = true},
	[VHOST_SET_VRING_ERR] = {.name = "SET_VRING_ERR",
				 .fn = accept_only,
				 .min = 8,
				 .max = 8,
				 .queue = QUEUE_IN_64,
				 .fd_for_queue = true},
	[VHOST_GET_PROTOCOL_FEATURES] = {.name = "GET_PROTOCOL_FEATURES",
					 .answer = PROTOCOL_FEATURES,
					 .replies = true},
	[VHOST_SET_PROTOCOL_FEATURES] = {.name = "SET_PROTOCOL_FEATURES",
					 .fn = set_protocol_features,
					 .min = 8,
					 .max = 8},
	[VHOST_GET_QUEUE_NUM] = {.name = "GET_QUEUE_NUM", .answer = QUEUE_COUNT, .replies = true},
	[VHOST_SET_VRING_ENABLE] = {.name = "SET_VRING_ENABLE",
				    .fn = set_vring_enable,
				    .min = 8,
				    .max = 8,
				    .queue = QUEUE_IN_32},
	[VHOST_GET_CONFIG] = {.name = "GET_CONFIG",
			      .fn = get_config,
			      .min = CONFIG_HEADER,
			      .max = CONFIG_HEADER + CONFIG_SPACE,
			      .replies = true},
	[VHOST_RESET_DEVICE] = {.name = "RESET_DEVICE", .fn = reset},
};
static_assert(ARRAY_SIZE(requests) == VHOST_REQUEST_COUNT, "as many rows as requests");
static_assert(sizeof(struct memory_region) == 32, "as the message has it");
static_assert(8 + MEMORY_REGIONS * 32 <= VHOST_PAYLOAD, "the longest message fits");

/* --- dispatch -------------------------------------------------------------------------------- */

int vhost_user_header(const uint8_t raw[VHOST_HEADER], struct vhost_message *message,
		      struct error *err)
{
	uint32_t header[3];

	memcpy(header, raw, sizeof(header));
	if ((header[1] & FLAG_VERSION_MASK) != FLAG_VERSION || header[1] & FLAG_REPLY)
		return error_set(
			err, ERR_INVALID,
			"a vhost-user message of QEMU (request %u) has wrong flags (0x%x): this is a bug, or QEMU was taken over",
			header[0], header[1]);
	if (header[2] > VHOST_PAYLOAD)
		return error_set(
			err, ERR_INVALID,
			"a vhost-user message of QEMU (request %u) is too long (%u bytes): this is a bug, or QEMU was taken over",
			header[0], header[2]);
	message->request = header[0];
	message->flags = header[1];
	message->size = header[2];
	return 0;
}

static uint32_t message_queue(const struct request_row *row, const struct vhost_message *m)
{
	return row->queue == QUEUE_IN_32 ? get32(m, 0) : (uint32_t)get64(m, 0) & VRING_INDEX;
}

/* Checks that the size, the queue and the descriptors of the message are as its row of the table
 * requires. */
static int check_message(const struct device *device, const struct request_row *row,
			 const struct vhost_message *m, struct error *err)
{
	uint32_t queue;

	if (m->size < row->min || m->size > row->max)
		return error_set(
			err, ERR_INVALID,
			"QEMU's message has a wrong length (%u bytes): this is a bug, or QEMU was taken over",
			m->size);
	queue = row->queue ? message_queue(row, m) : QUEUE_EVENT;
	if (queue >= QUEUES_MENTIONED)
		return error_set(
			err, ERR_INVALID,
			"QEMU's message is about queue %u, which the vsock device does not have: this is a bug, or QEMU was taken over",
			queue);
	if (row->stopped && queue != QUEUE_EVENT && device->rings[queue].kicked)
		return error_set(
			err, ERR_CONFLICT,
			"QEMU's message would change queue %u while it runs: this is a bug, or QEMU was taken over",
			queue);
	if (row->fd_for_queue && m->nfds != (get64(m, 0) & VRING_NO_FD ? 0 : 1))
		return error_set(
			err, ERR_INVALID,
			"QEMU's message has a wrong number of descriptors, which is %u: this is a bug, or QEMU was taken over",
			m->nfds);
	return 0;
}

static int dispatch_message(struct device *device, struct vhost_message *m,
			    struct vhost_reply *reply, bool *replies, struct error *err)
{
	const struct request_row *row =
		m->request < ARRAY_SIZE(requests) ? &requests[m->request] : &requests[0];

	*replies = row->replies;
	if (!row->name)
		return error_set(
			err, ERR_UNSUPPORTED,
			"microagent-vsockd does not know QEMU's vhost-user message %u: QEMU is newer than microagent supports, or was taken over",
			m->request);
	if (check_message(device, row, m, err) < 0)
		return error_prefix(err, "vhost-user %s", row->name);
	if (!row->fn) {
		reply64(reply, m, row->answer);
		return 0;
	}
	if (row->queue && message_queue(row, m) == QUEUE_EVENT && !row->replies)
		return 0;
	return row->fn(device, m, reply, err) < 0 ? error_prefix(err, "vhost-user %s", row->name)
						  : 0;
}

int vhost_user_handle(struct device *device, struct vhost_message *m, struct vhost_reply *reply,
		      struct error *err)
{
	struct error wrong = {0};
	bool replies;
	int rc;

	reply->size = 0;
	rc = dispatch_message(device, m, reply, &replies, &wrong);
	for (unsigned i = 0; i < m->nfds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->nfds = 0;
	if (!replies && m->flags & FLAG_NEED_REPLY &&
	    device->protocol_features & PROTOCOL_REPLY_ACK) {
		if (rc < 0)
			log_limited(device->log, "%s", wrong.msg);
		reply64(reply, m, rc < 0);
		return 0;
	}
	if (rc < 0)
		return error_set(err, wrong.code, "%s", wrong.msg);
	return 0;
}
