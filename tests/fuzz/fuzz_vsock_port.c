/* SPDX-License-Identifier: MIT */
/*
 * The face of vsockd that is a byte stream. A guest writes to it in pieces of any length: HELLOs,
 * packets, parts of them, and other bytes. The output must be packets in a row, and a HELLO gets
 * its answer.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
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
#include "vsockd/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct core core;
static struct port port;
static struct log nolog;
static int dir_fd = -1, epfd = -1, guest = -1;
static int client = -1;
static uint32_t last_host_port;
static uint8_t heard[2 * PACKET_WHOLE];
static size_t heard_len;
static uint64_t welcomed;

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
	HOLDS(dir_fd >= 0);
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

static void check_packet(const struct packet *p)
{
	HOLDS(p->len <= PACKET_PAYLOAD);
	if (p->type == PACKET_LINK) {
		HOLDS(packet_is_link(p, LINK_ASK) || packet_is_link(p, LINK_WELCOME));
		welcomed = p->op == LINK_WELCOME ? packet_link_number(p) : welcomed;
		return;
	}
	HOLDS(p->op != PACKET_INVALID && p->op < PACKET_OP_COUNT);
	HOLDS(p->op == PACKET_RW || !p->len);
	if (p->op == PACKET_REQUEST)
		last_host_port = p->src_port;
}

/* Splits the output into packets. */
static void hear(void)
{
	struct packet p;
	ssize_t n;

	while ((n = recv(guest, heard + heard_len, sizeof(heard) - heard_len, MSG_DONTWAIT)) > 0) {
		heard_len += (size_t)n;
		while (heard_len >= PACKET_HEADER) {
			packet_decode(heard, &p);
			check_packet(&p);
			if (heard_len < PACKET_HEADER + p.len)
				break;
			heard_len -= PACKET_HEADER + p.len;
			memmove(heard, heard + PACKET_HEADER + p.len, heard_len);
		}
	}
}

static void pump(void)
{
	handle_events();
	port_event(&port, EPOLLIN | EPOLLOUT);
	for (int round = 0; port_pump(&port); round++)
		HOLDS(round < 10000);
	handle_events();
}

static void say(const void *data, size_t len)
{
	ssize_t n = send(guest, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	HOLDS(n == (ssize_t)len);
	pump();
}

static void say_packet(struct input *in)
{
	uint8_t raw[PACKET_HEADER + 512];
	uint8_t odd = next(in);
	struct packet p = {.src_cid = odd == 255 ? next32(in) : 3,
			   .dst_cid = PACKET_HOST_CID,
			   .src_port = 5000,
			   .dst_port = odd & 1 ? last_host_port : 1024,
			   .len = odd & 8 ? next32(in) : (uint32_t)odd * 2,
			   .type = odd == 253 ? PACKET_LINK : PACKET_STREAM,
			   .op = next(in) % 10,
			   .flags = next(in),
			   .buf_alloc = odd & 2 ? next32(in) : 65536,
			   .fwd_cnt = odd & 4 ? next32(in) : next(in)};
	size_t len = PACKET_HEADER + (p.len < 512 ? p.len : 512);

	memset(raw, odd, sizeof(raw));
	packet_encode(&p, raw);
	if (next(in) % 8 == 0)
		len = next(in) % len + 1;
	say(raw, len);
}

static void say_hello(struct input *in)
{
	const struct packet p = packet_link(LINK_HELLO, 0, next64(in));
	uint8_t raw[PACKET_HEADER];

	packet_encode(&p, raw);
	say(raw, sizeof(raw));
}

static void say_noise(struct input *in)
{
	uint8_t raw[256];
	size_t len = 1 + next(in) % sizeof(raw);

	for (size_t i = 0; i < len; i++)
		raw[i] = next(in);
	say(raw, len);
}

static void client_connects(struct input *in)
{
	(void)in;
	if (client >= 0)
		close(client);
	client = sock_connect_at(dir_fd, "clients", NULL);
	HOLDS(client >= 0 && send(client, "CONNECT 5000\n", 13, MSG_NOSIGNAL) == 13);
	pump();
}

static void client_writes(struct input *in)
{
	static const uint8_t bytes[4096];

	if (client >= 0 && send(client, bytes, 1 + next(in) * 16u, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		pump();
}

static void client_reads(struct input *in)
{
	static uint8_t bytes[65536];

	(void)in;
	if (client >= 0 && recv(client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		pump();
}

static void guest_reads(struct input *in)
{
	(void)in;
	hear();
	pump();
}

static void (*const steps[])(struct input *in) = {
	say_packet,	 say_packet,	say_packet,   say_hello,   say_noise,
	client_connects, client_writes, client_reads, guest_reads,
};

static void begin(void)
{
	struct core_config config = {.guest_cid = 3,
				     .streams = 8,
				     .stream_bytes = 4096,
				     .line_ns = NS_PER_S,
				     .answer_ns = 2 * NS_PER_S,
				     .close_ns = 3 * NS_PER_S,
				     .log = &nolog};
	int ends[2];

	log_init(&nolog, -1, 0);
	clock_set_virtual(NS_PER_S);
	unlinkat(dir_fd, "clients", 0);
	config.listen_fd = sock_listen_at(dir_fd, "clients", NULL);
	config.epfd = epfd = epoll_create1(EPOLL_CLOEXEC);
	HOLDS(config.listen_fd >= 0 && epfd >= 0 && core_init(&core, &config, NULL) == 0);
	HOLDS(fd_socketpair(ends, NULL) == 0 && fd_nonblock(ends[1], true, NULL) == 0);
	guest = ends[0];
	client = -1;
	heard_len = 0;
	last_host_port = CORE_PORT_FIRST;
	port_init(&port, &core, 3, ends[1], &nolog);
}

/* Whatever was sent before, a HELLO is seen when as many bytes have come as were announced. */
static void revive(void)
{
	static uint8_t raw[PACKET_WHOLE + PACKET_HEADER];
	const struct packet p = packet_link(LINK_HELLO, 0, UINT64_C(0xfeedfeedfeed));

	memset(raw, 0x5a, PACKET_WHOLE);
	packet_encode(&p, raw + PACKET_WHOLE);
	welcomed = 0;
	hear();
	say(raw, sizeof(raw));
	for (int i = 0; i < 100 && welcomed != UINT64_C(0xfeedfeedfeed); i++) {
		hear();
		pump();
	}
	HOLDS(welcomed == UINT64_C(0xfeedfeedfeed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.data = data, .left = size < 4096 ? size : 4096};

	begin();
	while (in.left) {
		steps[next(&in) % ARRAY_SIZE(steps)](&in);
		/* The kernel's queues do not fill up, so no output may be lost. */
		hear();
	}
	revive();
	if (client >= 0)
		close(client);
	core_link(&core, false);
	handle_events();
	close(guest);
	close(port.fd);
	close(core.config.listen_fd);
	core_free(&core);
	close(epfd);
	return 0;
}
