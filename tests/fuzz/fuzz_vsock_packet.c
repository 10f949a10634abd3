/* SPDX-License-Identifier: MIT */
/*
 * The vsock core under any sequence of a guest's packets, mixed with actions of the host's side.
 * Buffers of the guest have exactly the bytes that they declare, so that the sanitizer sees a step
 * past them. The output must be well formed, and when both sides have gone no stream may be left.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "fuzz_input.h"
#include "vsockd/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define STREAMS 8
#define SOCKETS 8 /* of the host's side: clients and accepted connections */
#define SLOTS 4
#define PAYLOAD 4096

static struct core core;
static struct host_port ports[2] = {{.port = 1024}, {.port = 1025}};
static struct log nolog;
static int dir_fd = -1, listener = -1, epfd = -1;
static int sockets[SOCKETS];
static unsigned nsockets;
static uint32_t last_host_port; /* of our last REQUEST */

static char dir[] = "/tmp/microagent-fuzz-XXXXXX";

static void remove_directory(void)
{
	path_remove_tree_at(AT_FDCWD, dir, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	HOLDS(mkdtemp(dir) && atexit(remove_directory) == 0);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listener = sock_listen_at(dir_fd, "listed", NULL);
	HOLDS(dir_fd >= 0 && listener >= 0);
	snprintf(ports[0].path, sizeof(ports[0].path), "/proc/self/fd/%d/listed", dir_fd);
	return 0;
}

static void handle_events(void)
{
	struct epoll_event e[16];
	int n;

	while ((n = epoll_wait(epfd, e, 16, 0)) > 0)
		for (int i = 0; i < n; i++) {
			union poll_ref ref = {.all = e[i].data.u64};

			if (ref.type == POLL_LISTEN)
				core_listen_event(&core);
			else
				core_stream_event(&core, ref, e[i].events);
		}
}

/* --- what happens, each with its parameters from the input ----------------------------------- */

static uint32_t choose_host_port(struct input *in)
{
	switch (next(in) % 5) {
	case 0:
		return 1024;
	case 1:
		return 1025;
	case 2:
		return CORE_PORT_FIRST + next(in) % 16;
	case 3:
		return next32(in);
	default:
		return last_host_port;
	}
}

static void put_packet(struct input *in)
{
	uint8_t odd = next(in);
	struct packet p = {.src_cid = odd == 255 ? next32(in) : 3,
			   .dst_cid = odd == 254 ? next32(in) : PACKET_HOST_CID,
			   .src_port = next(in) % 3 ? 5000 : next(in),
			   .dst_port = choose_host_port(in),
			   .type = odd == 253 ? next(in) : PACKET_STREAM,
			   .op = next(in) % 10,
			   .flags = next(in),
			   .buf_alloc = odd & 1 ? next32(in) : 65536,
			   .fwd_cnt = odd & 2 ? next32(in) : next(in)};
	size_t there = (size_t)next(in) * 17 % PAYLOAD;
	autofree uint8_t *payload = malloc(there ? there : 1);
	struct iovec iov[2] = {{payload, there / 2}, {payload + there / 2, there - there / 2}};
	struct span span = {.iov = iov, .n = 2, .bytes = there};

	p.len = odd & 4 ? next32(in) : (uint32_t)there;
	memset(payload, odd, there);
	if (core_accepts(&core))
		core_input(&core, &p, &span);
}

static void check_output(const uint8_t *raw, uint32_t length, size_t room)
{
	struct packet p;

	HOLDS(length >= PACKET_HEADER && length <= room);
	packet_decode(raw, &p);
	HOLDS(p.op != PACKET_INVALID && p.op < PACKET_OP_COUNT);
	HOLDS(p.len == length - PACKET_HEADER);
	if (p.op == PACKET_RST)
		return; /* refusals carry the addresses of the packets that they refuse */
	HOLDS(p.src_cid == PACKET_HOST_CID && p.dst_cid == 3 && p.type == PACKET_STREAM);
	HOLDS(p.op == PACKET_RW || !p.len);
	if (p.op == PACKET_REQUEST)
		last_host_port = p.src_port;
}

static void get_packets(struct input *in)
{
	unsigned n = 1 + next(in) % SLOTS;
	size_t room = PACKET_HEADER + 1 + (size_t)next(in) * 16;
	uint32_t lengths[SLOTS];
	struct iovec iov[SLOTS];
	struct span slots[SLOTS];
	uint8_t *raw[SLOTS];
	unsigned filled;

	for (unsigned i = 0; i < n; i++) {
		raw[i] = malloc(room);
		iov[i] = (struct iovec){raw[i], room};
		slots[i] = (struct span){.iov = &iov[i], .n = 1, .bytes = room};
	}
	filled = core_output(&core, slots, n, lengths);
	HOLDS(filled <= n);
	for (unsigned i = 0; i < n; i++) {
		if (i < filled)
			check_output(raw[i], lengths[i], room);
		free(raw[i]);
	}
}

static void new_socket(int fd)
{
	if (fd < 0)
		return;
	if (nsockets == SOCKETS) {
		close(fd);
		return;
	}
	sockets[nsockets++] = fd;
	fd_nonblock(fd, true, NULL);
}

static void client_connects(struct input *in)
{
	char line[40];
	int fd = sock_connect_at(dir_fd, "clients", NULL);
	int n = snprintf(line, sizeof(line), "CONNECT %u\n", next(in) % 2 ? 5000 : next32(in));

	if (fd >= 0 && n > 0 && next(in) % 8 == 0)
		line[next(in) % (unsigned)n] = (char)next(in);
	if (fd >= 0 && send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		HOLDS(n > 0);
	new_socket(fd);
}

static void listener_accepts(struct input *in)
{
	(void)in;
	new_socket(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

static int *some_socket(struct input *in)
{
	return nsockets ? &sockets[next(in) % nsockets] : NULL;
}

static void host_writes(struct input *in)
{
	static const uint8_t bytes[PAYLOAD];
	const int *fd = some_socket(in);
	size_t len = 1 + (size_t)next(in) * 16;

	if (fd && send(*fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		HOLDS(len <= sizeof(bytes));
}

static void host_reads(struct input *in)
{
	static uint8_t bytes[65536];
	const int *fd = some_socket(in);

	if (fd && recv(*fd, bytes, 1 + (size_t)next(in) * 256, MSG_DONTWAIT) > 0)
		HOLDS(nsockets);
}

static void host_shuts(struct input *in)
{
	const int *fd = some_socket(in);

	if (fd)
		shutdown(*fd, next(in) % 3);
}

static void host_closes(struct input *in)
{
	int *fd = some_socket(in);

	if (!fd)
		return;
	close(*fd);
	*fd = sockets[--nsockets];
}

static void time_passes(struct input *in)
{
	clock_set_virtual(clock_mono_ns() + next(in) * (NS_PER_S / 16));
	core_expire(&core, clock_mono_ns());
}

static void driver_changes(struct input *in)
{
	core_link(&core, next(in) % 4);
}

static void (*const steps[])(struct input *in) = {
	put_packet,  put_packet,  put_packet,	   put_packet,	     get_packets,
	get_packets, get_packets, client_connects, host_writes,	     host_reads,
	host_shuts,  host_closes, time_passes,	   listener_accepts, driver_changes,
};

/* --- one input ------------------------------------------------------------------------------- */

static void begin(void)
{
	struct core_config config = {.guest_cid = 3,
				     .streams = STREAMS,
				     .stream_bytes = 4096,
				     .line_ns = NS_PER_S,
				     .answer_ns = 2 * NS_PER_S,
				     .close_ns = 3 * NS_PER_S,
				     .ports = ports,
				     .nports = 2,
				     .log = &nolog};

	log_init(&nolog, -1, 0);
	clock_set_virtual(NS_PER_S);
	unlinkat(dir_fd, "clients", 0);
	config.listen_fd = sock_listen_at(dir_fd, "clients", NULL);
	config.epfd = epfd = epoll_create1(EPOLL_CLOEXEC);
	HOLDS(config.listen_fd >= 0 && epfd >= 0);
	HOLDS(core_init(&core, &config, NULL) == 0);
	core_link(&core, true);
	last_host_port = CORE_PORT_FIRST;
}

static void end(void)
{
	int fd;

	while (nsockets)
		close(sockets[--nsockets]);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
	handle_events();
	clock_set_virtual(clock_mono_ns() + 100 * NS_PER_S);
	core_expire(&core, clock_mono_ns());
	core_link(&core, false);
	handle_events();
	HOLDS(core.table.used == 0 && core_wants(&core) == 0);
	HOLDS(core_deadline(&core) == UINT64_MAX);
	close(core.config.listen_fd);
	core_free(&core);
	close(epfd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.data = data, .left = size};

	begin();
	while (in.left) {
		steps[next(&in) % ARRAY_SIZE(steps)](&in);
		handle_events();
	}
	end();
	return 0;
}
