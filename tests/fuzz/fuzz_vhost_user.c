/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user messages, whole and as bytes on a socket, and the rings that they set up in memory
 * that the input writes. Whatever comes, no descriptor may be left when the front-end has gone.
 */
#include <fcntl.h>
#include <linux/virtio_ring.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "fuzz_input.h"
#include "vsockd/device.h"
#include "vsockd/vhost_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define RAM 0x40000u
#define NUM 16
#define GUEST 0x100000u
#define USER UINT64_C(0x7000000000)
#define RING_AT(q) ((q)*0x1000u)
#define AVAIL_AT 0x400u
#define USED_AT 0x800u

enum {
	SET_FEATURES = 2,
	SET_MEM_TABLE = 5,
	SET_VRING_NUM = 8,
	SET_VRING_ADDR,
	SET_VRING_BASE,
	GET_VRING_BASE,
	SET_VRING_KICK
};

static struct core core;
static struct device device;
static struct vhost_link socket_link;
static struct log nolog;
static int memfd = -1, event = -1, epfd = -1, ends[2];
static uint8_t *ram;
static unsigned lowest_fd; /* the first descriptor that is free when nothing is open */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	memfd = memfd_create("ram", MFD_CLOEXEC);
	HOLDS(memfd >= 0 && ftruncate(memfd, RAM) == 0);
	ram = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	HOLDS(ram != MAP_FAILED && event >= 0);
	return 0;
}

static int some_fd(uint8_t kind)
{
	return fcntl(kind % 3 == 0 ? memfd : kind % 3 == 1 ? event : ends[1], F_DUPFD_CLOEXEC, 3);
}

static void handle(struct vhost_message *m)
{
	struct vhost_reply reply;
	struct error err = {0};

	if (vhost_user_handle(&device, m, &reply, &err) < 0)
		HOLDS(err.code != ERR_NONE && *err.msg);
	HOLDS(reply.size <= sizeof(reply.bytes));
	HOLDS(m->nfds == 0);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void any_message(struct input *in)
{
	struct vhost_message m = {.request = next(in) % 40, .flags = 1};

	m.size = next16(in) % (VHOST_PAYLOAD + 1);
	for (uint32_t i = 0; i < m.size; i++)
		m.payload[i] = next(in);
	for (unsigned n = next(in) % (VHOST_FDS + 1); m.nfds < n; m.nfds++)
		m.fds[m.nfds] = some_fd(next(in));
	m.flags |= next(in) & 8u;
	handle(&m);
}

static void short_message(uint32_t request, const void *payload, uint32_t size, int fd)
{
	struct vhost_message m = {.request = request, .flags = 1, .size = size};

	memcpy(m.payload, payload, size);
	if (fd >= 0)
		m.fds[m.nfds++] = fd;
	handle(&m);
}

/* Sends a message as a front-end does, with one number from the input. */
static void bring_up(struct input *in)
{
	struct {
		uint64_t n;
		struct memory_region region;
	} table = {1, {GUEST, RAM, USER, 0}};
	uint64_t features = UINT64_C(1) << 32;

	short_message(SET_FEATURES, &features, 8, -1);
	short_message(SET_MEM_TABLE, &table, sizeof(table), some_fd(0));
	for (uint32_t q = 0; q < 2; q++) {
		uint64_t base = USER + RING_AT(q), index = q;
		uint32_t num[2] = {q, NUM}, first[2] = {q, next(in)};
		struct {
			uint32_t index, flags;
			uint64_t desc, used, avail, log;
		} a = {q, 0, base, base + USED_AT, base + AVAIL_AT, 0};

		short_message(GET_VRING_BASE, num, 8, -1);
		short_message(SET_VRING_NUM, num, 8, -1);
		short_message(SET_VRING_BASE, first, 8, -1);
		short_message(SET_VRING_ADDR, &a, sizeof(a), -1);
		short_message(SET_VRING_KICK, &index, 8, some_fd(1));
	}
}

static void write_memory(struct input *in)
{
	uint32_t at = next16(in) * 4u % RAM;
	unsigned len = next(in);

	for (unsigned i = 0; i < len && at + i < RAM; i++)
		ram[at + i] = next(in);
}

static void write_descriptor(struct input *in)
{
	uint8_t *table = ram + RING_AT(next(in) % 2u);
	unsigned index = next(in) % NUM;
	uint8_t odd = next(in);
	struct vring_desc d = {.addr = odd == 255 ? next64(in) : GUEST + next16(in) * 4u,
			       .len = odd & 1 ? next16(in) * 16u : 44u + next(in),
			       .flags = next(in) & 7,
			       .next = odd & 2 ? next(in) : next(in) % NUM};

	memcpy(table + index * sizeof(d), &d, sizeof(d));
}

static void offer(struct input *in)
{
	struct vring_avail *a =
		(struct vring_avail *)(void *)(ram + RING_AT(next(in) % 2u) + AVAIL_AT);
	uint8_t odd = next(in);

	a->ring[a->idx % NUM] = odd & 0xf0 ? odd % NUM : next16(in);
	a->idx = (uint16_t)(a->idx + (odd == 0 ? next(in) : 1));
}

/* Writes a valid packet at a known address, which a descriptor at 0x8000 or near it finds. */
static void write_packet(struct input *in)
{
	struct packet p = {.src_cid = 3,
			   .dst_cid = PACKET_HOST_CID,
			   .src_port = next(in),
			   .dst_port = next(in) % 2 ? CORE_PORT_FIRST + next(in) % 4 : next16(in),
			   .len = next(in),
			   .type = PACKET_STREAM,
			   .op = next(in) % 9,
			   .flags = next(in) % 4,
			   .buf_alloc = 65536};

	packet_encode(&p, ram + 0x8000 + 4u * next(in));
}

static void pump(struct input *in)
{
	(void)in;
	for (int i = 0; i < 8 && device_pump(&device); i++)
		;
}

static void host_client(struct input *in)
{
	char line[] = "CONNECT 5000\n0123456789";
	struct epoll_event e[8];
	int pair[2], n;

	/* Takes the socket as if it had been accepted, since the listener is not tested here. */
	struct stream *s = stream_alloc(&core.table);

	if (!s)
		return;
	HOLDS(fd_socketpair(pair, NULL) == 0);
	s->fd = pair[0];
	HOLDS(send(pair[1], line, sizeof(line) - 1, MSG_NOSIGNAL) > 0);
	HOLDS(poll_add(epfd, s->fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
		       (union poll_ref){.index = stream_index(&core.table, s),
					.generation = s->generation,
					.type = POLL_STREAM}) == 0);
	if (next(in) % 2)
		shutdown(pair[1], SHUT_WR);
	n = epoll_wait(epfd, e, 8, 0);
	for (int i = 0; i < n; i++) {
		union poll_ref ref = {.all = e[i].data.u64};

		if (ref.type == POLL_STREAM)
			core_stream_event(&core, ref, e[i].events);
	}
	pump(in);
	close(pair[1]);
}

static void socket_bytes(struct input *in)
{
	uint8_t bytes[256];
	unsigned len = next(in);
	struct error err = {0};

	for (unsigned i = 0; i < len; i++)
		bytes[i] = next(in);
	if (len && send(ends[1], bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
	if (vhost_link_read(&socket_link, &device, &err) < 0) {
		HOLDS(err.code != ERR_NONE);
		/* The daemon would end here; in this test another connection replaces it. */
		while (recv(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
		vhost_link_init(&socket_link, ends[0]);
	}
	while (recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void time_passes(struct input *in)
{
	clock_set_virtual(clock_mono_ns() + next(in) * (NS_PER_S / 16));
	core_expire(&core, clock_mono_ns());
}

static void (*const steps[])(struct input *in) = {
	any_message,
	any_message,
	bring_up,
	write_memory,
	write_descriptor,
	write_descriptor,
	offer,
	offer,
	write_packet,
	pump,
	pump,
	host_client,
	socket_bytes,
	time_passes,
};

/* --- one input ------------------------------------------------------------------------------- */

static unsigned next_free_fd(void)
{
	int fd = fcntl(memfd, F_DUPFD_CLOEXEC, 3);

	HOLDS(fd >= 0);
	close(fd);
	return (unsigned)fd;
}

static void begin(void)
{
	struct core_config config = {.guest_cid = 3,
				     .streams = 4,
				     .stream_bytes = 4096,
				     .line_ns = NS_PER_S,
				     .answer_ns = 2 * NS_PER_S,
				     .close_ns = 3 * NS_PER_S,
				     .listen_fd = -1,
				     .log = &nolog};

	lowest_fd = next_free_fd();
	log_init(&nolog, -1, 0);
	clock_set_virtual(NS_PER_S);
	memset(ram, 0, RAM);
	config.epfd = epfd = epoll_create1(EPOLL_CLOEXEC);
	HOLDS(epfd >= 0 && fd_socketpair(ends, NULL) == 0);
	HOLDS(core_init(&core, &config, NULL) == 0);
	device_init(&device, &core, 3, epfd, &nolog);
	vhost_link_init(&socket_link, ends[0]);
}

static void end(void)
{
	device_disconnect(&device);
	core_free(&core);
	close(ends[0]);
	close(ends[1]);
	close(epfd);
	HOLDS(next_free_fd() == lowest_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.data = data, .left = size};

	begin();
	while (in.left)
		steps[next(&in) % ARRAY_SIZE(steps)](&in);
	end();
	return 0;
}
