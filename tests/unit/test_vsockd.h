/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the vsock core share: a core with real sockets on the host's side, and a guest
 * that is played by the test, packet by packet. The clock stands still unless a test moves it.
 *
 * With RIG_PORT defined the guest's packets go through the face that is a byte stream, and those
 * for it come from there: the same tests on both ways to the core.
 */
#ifndef TEST_VSOCKD_H
#define TEST_VSOCKD_H

#include "test_base.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "vsockd/core.h"
#include "vsockd/port.h"

#define GUEST_CID 3
#define GUEST_PORT 5000
#define LISTED 1024	 /* a host port with a listener */
#define LISTED_DEAD 1025 /* a listed host port whose socket nobody listens at */
#define LISTED_NONE 1026 /* a listed host port without a socket */
#define UNLISTED 1027	 /* a host port that is not listed, whose socket there is */
#ifdef RIG_PORT
#define SLOT_BYTES PACKET_WHOLE
#else
#define SLOT_BYTES 4096
#endif
#define STREAM_BYTES 65536
#define START_NS (1000 * NS_PER_S)

struct rig {
	struct scratch *scratch;
	struct core core;
	struct host_port ports[4]; /* the last one is not listed */
	struct log log;
	int epfd;
	int clients;  /* where host clients are accepted */
	int listener; /* of LISTED */
#ifdef RIG_PORT
	struct port port;
	int guest; /* the other end of the port */
#endif
};

#ifdef RIG_PORT
static inline void rig_pump(struct rig *r)
{
	port_event(&r->port, EPOLLIN | EPOLLOUT);
	for (int round = 0; port_pump(&r->port); round++)
		assert_true(round < 10000);
}

/* Sends HELLO, and skips bytes until it has been answered. */
static inline void rig_port_open(struct rig *r)
{
	const struct packet hello = packet_link(LINK_HELLO, 0, 1);
	uint8_t raw[2 * PACKET_HEADER];
	struct error err;
	int ends[2];

	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(fd_nonblock(ends[1], true, &err), 0);
	r->guest = ends[0];
	port_init(&r->port, &r->core, GUEST_CID, ends[1], &r->log);
	packet_encode(&hello, raw);
	rig_pump(r);
	assert_int_equal(write(r->guest, raw, PACKET_HEADER), PACKET_HEADER);
	rig_pump(r);
	assert_int_equal(recv(r->guest, raw, sizeof(raw), MSG_DONTWAIT), (int)sizeof(raw));
}
#endif

static inline int rig_listen(struct rig *r, const char *name, char *path)
{
	struct error err;
	int fd = sock_listen_at(r->scratch->fd, name, &err);

	assert_true(fd >= 0);
	if (path)
		snprintf(path, CORE_SOCKET_PATH, "%s/%s", r->scratch->path, name);
	return fd;
}

static inline struct rig *rig_make(void **state, unsigned streams)
{
	struct rig *r = calloc(1, sizeof(*r));
	void *scratch = NULL;
	struct error err;

	assert_non_null(r);
	assert_int_equal(scratch_make(&scratch), 0);
	clock_set_virtual(START_NS);
	r->scratch = scratch;
	r->epfd = epoll_create1(EPOLL_CLOEXEC);
	log_init(&r->log, -1, 0);
	r->clients = rig_listen(r, "clients", NULL);
	r->ports[0].port = LISTED;
	r->listener = rig_listen(r, "listed", r->ports[0].path);
	r->ports[1].port = LISTED_DEAD;
	close(rig_listen(r, "dead", r->ports[1].path));
	r->ports[2].port = LISTED_NONE;
	r->ports[3] = r->ports[0];
	r->ports[3].port = UNLISTED;
	struct core_config config = {.guest_cid = GUEST_CID,
				     .streams = streams,
				     .stream_bytes = STREAM_BYTES,
				     .line_ns = 5 * NS_PER_S,
				     .answer_ns = 10 * NS_PER_S,
				     .close_ns = 8 * NS_PER_S,
				     .ports = r->ports,
				     .nports = 3,
				     .listen_fd = r->clients,
				     .epfd = r->epfd,
				     .log = &r->log};
	assert_int_equal(core_init(&r->core, &config, &err), 0);
	core_link(&r->core, true);
#ifdef RIG_PORT
	rig_port_open(r);
#endif
	*state = r;
	return r;
}

static inline int rig_setup(void **state)
{
	rig_make(state, 16);
	return 0;
}

static inline int rig_teardown(void **state)
{
	struct rig *r = *state;
	void *scratch = r->scratch;

	core_free(&r->core);
#ifdef RIG_PORT
	close(r->guest);
	close(r->port.fd);
#endif
	close(r->listener);
	close(r->clients);
	close(r->epfd);
	free(r);
	return scratch_remove(&scratch);
}

/* Gives the core all events of epoll. */
static inline void rig_events(struct rig *r)
{
	struct epoll_event e[32];
	int n;

	for (int round = 0; (n = epoll_wait(r->epfd, e, 32, 0)) > 0; round++) {
		assert_true(round < 1000);
		for (int i = 0; i < n; i++) {
			union poll_ref ref = {.all = e[i].data.u64};

			if (ref.type == POLL_LISTEN)
				core_listen_event(&r->core);
			else
				core_stream_event(&r->core, ref, e[i].events);
		}
	}
}

static inline void rig_advance(struct rig *r, uint64_t ns)
{
	clock_set_virtual(clock_mono_ns() + ns);
	core_expire(&r->core, clock_mono_ns());
}

/* --- the host's side ------------------------------------------------------------------------- */

/* Makes a new client that has written text (NULL: nothing). */
static inline int rig_client(struct rig *r, const char *text)
{
	struct error err;
	int fd = sock_connect_at(r->scratch->fd, "clients", &err);

	assert_true(fd >= 0);
	if (text)
		assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	rig_events(r);
	return fd;
}

/* Returns the bytes that can be read now; -1: nothing, 0: the end (a reset is one too). */
static inline ssize_t host_read(int fd, void *data, size_t len)
{
	ssize_t n = recv(fd, data, len, MSG_DONTWAIT);

	if (n < 0 && errno == ECONNRESET)
		return 0;
	assert_true(n >= 0 || errno == EAGAIN);
	return n;
}

static inline void host_expect(int fd, const char *text)
{
	char got[256];
	ssize_t n = host_read(fd, got, sizeof(got) - 1);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, text);
}

static inline void host_expect_nothing(int fd)
{
	char c;

	assert_int_equal(host_read(fd, &c, 1), -1);
}

static inline void host_write(struct rig *r, int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	rig_events(r);
}

/* Reads everything, while the core delivers what it has. */
static inline size_t host_drain(struct rig *r, int fd)
{
	static char sink[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = host_read(fd, sink, sizeof(sink));

		if (n <= 0)
			return total;
		total += (size_t)n;
		rig_events(r);
	}
}

/* --- the guest's side ------------------------------------------------------------------------ */

/* Sends a packet from the guest's port to a host port. */
static inline struct packet guest_packet(uint32_t guest_port, uint32_t host_port, unsigned op)
{
	return (struct packet){.src_cid = GUEST_CID,
			       .dst_cid = PACKET_HOST_CID,
			       .src_port = guest_port,
			       .dst_port = host_port,
			       .type = PACKET_STREAM,
			       .op = (uint16_t)op,
			       .buf_alloc = 262144};
}

#ifdef RIG_PORT
static inline void guest_put(struct rig *r, const struct packet *p, const void *data, size_t len)
{
	uint8_t raw[PACKET_HEADER];

	packet_encode(p, raw);
	assert_int_equal(write(r->guest, raw, sizeof(raw)), (int)sizeof(raw));
	if (len)
		assert_int_equal(write(r->guest, data, len), (int)len);
	rig_pump(r);
	rig_events(r);
}
#else
static inline void guest_put(struct rig *r, const struct packet *p, const void *data, size_t len)
{
	/* Makes a copy on the heap, so that the address sanitizer sees reads past the end. */
	autofree void *copy = malloc(len ? len : 1);
	struct iovec iov = {.iov_base = copy, .iov_len = len};
	struct span span = {.iov = &iov, .n = len ? 1 : 0, .bytes = len};

	if (len)
		memcpy(copy, data, len);
	assert_true(core_accepts(&r->core));
	core_input(&r->core, p, &span);
	rig_events(r);
}
#endif

static inline void guest_op(struct rig *r, uint32_t guest_port, uint32_t host_port, unsigned op)
{
	struct packet p = guest_packet(guest_port, host_port, op);

	guest_put(r, &p, NULL, 0);
}

static inline void guest_write(struct rig *r, uint32_t guest_port, uint32_t host_port,
			       const void *data, size_t len)
{
	struct packet p = guest_packet(guest_port, host_port, PACKET_RW);

	p.len = (uint32_t)len;
	guest_put(r, &p, data, len);
}

#ifdef RIG_PORT
static inline bool guest_get(struct rig *r, struct packet *p, char *payload)
{
	uint8_t raw[PACKET_WHOLE];
	ssize_t n;

	rig_events(r);
	rig_pump(r);
	n = recv(r->guest, raw, PACKET_HEADER, MSG_DONTWAIT);
	if (n < 0)
		return false;
	assert_int_equal(n, PACKET_HEADER);
	packet_decode(raw, p);
	for (uint32_t got = 0; got < p->len; got += (uint32_t)n) {
		rig_pump(r);
		n = recv(r->guest, raw + got, p->len - got, MSG_DONTWAIT);
		assert_true(n > 0);
	}
	if (payload)
		memcpy(payload, raw, p->len);
	return true;
}
#else
/* Returns the next packet for the guest, with its payload (up to SLOT_BYTES). Returns false if
 * there is none. */
static inline bool guest_get(struct rig *r, struct packet *p, char *payload)
{
	uint8_t raw[SLOT_BYTES];
	/* In three pieces, the header in two. No driver does so, but any may. */
	struct iovec iov[3] = {{raw, 20}, {raw + 20, 100}, {raw + 120, sizeof(raw) - 120}};
	struct span slot = {.iov = iov, .n = 3, .bytes = sizeof(raw)};
	uint32_t length = 0;

	rig_events(r);
	if (core_output(&r->core, &slot, 1, &length) == 0)
		return false;
	assert_true(length >= PACKET_HEADER && length <= sizeof(raw));
	packet_decode(raw, p);
	assert_int_equal(p->len, length - PACKET_HEADER);
	if (payload)
		memcpy(payload, raw + PACKET_HEADER, p->len);
	return true;
}
#endif

static inline struct packet guest_expect(struct rig *r, unsigned op)
{
	struct packet p;

	assert_true(guest_get(r, &p, NULL));
	assert_int_equal(p.op, op);
	assert_int_equal(p.type, PACKET_STREAM);
	if (op != PACKET_SHUTDOWN)
		assert_int_equal(p.flags, 0);
	return p;
}

static inline void guest_expect_nothing(struct rig *r)
{
	struct packet p;

	assert_false(guest_get(r, &p, NULL));
	assert_int_equal(core_wants(&r->core), 0);
}

static inline void guest_expect_bytes(struct rig *r, const char *text)
{
	char payload[SLOT_BYTES] = {0};
	struct packet p;

	assert_true(guest_get(r, &p, payload));
	assert_int_equal(p.op, PACKET_RW);
	assert_int_equal(p.len, strlen(text));
	assert_memory_equal(payload, text, strlen(text));
}

/* --- both: an open stream -------------------------------------------------------------------- */

/* Connects a client to the guest's port; *host_port is ours. */
static inline int open_from_host(struct rig *r, uint32_t guest_port, uint32_t *host_port)
{
	char line[64], expected[64];
	struct packet p;
	int fd;

	snprintf(line, sizeof(line), "CONNECT %u\n", guest_port);
	fd = rig_client(r, line);
	p = guest_expect(r, PACKET_REQUEST);
	assert_int_equal(p.dst_port, guest_port);
	*host_port = p.src_port;
	guest_op(r, guest_port, p.src_port, PACKET_RESPONSE);
	snprintf(expected, sizeof(expected), "OK %u\n", p.src_port);
	host_expect(fd, expected);
	return fd;
}

/* Returns the listener's end of a connection that the guest has made to LISTED. */
static inline int open_from_guest(struct rig *r, uint32_t guest_port)
{
	struct error err;
	int fd;

	guest_op(r, guest_port, LISTED, PACKET_REQUEST);
	guest_expect(r, PACKET_RESPONSE);
	fd = sock_accept(r->listener, &err);
	assert_true(fd >= 0);
	return fd;
}

/* --- both: credit ----------------------------------------------------------------------------- */

static inline void tell_credit(struct rig *r, uint32_t port, uint32_t alloc, uint32_t fwd)
{
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_CREDIT_UPDATE);

	p.buf_alloc = alloc;
	p.fwd_cnt = fwd;
	guest_put(r, &p, NULL, 0);
}

/* Makes a stream of which the guest has said that it has a buffer of alloc bytes. */
static inline int open_with_credit(struct rig *r, uint32_t *port, uint32_t alloc)
{
	int fd = open_from_host(r, GUEST_PORT, port);

	tell_credit(r, *port, alloc, 0);
	return fd;
}

/* Fills the host's socket and then the whole buffer. Returns the bytes. */
static inline size_t fill_up(struct rig *r, uint32_t port)
{
	static char block[4096];
	struct stream *s = &r->core.table.streams[0];
	size_t total = 0;

	memset(block, 'b', sizeof(block));
	while (s->rx_cnt - s->fwd_cnt < STREAM_BYTES) {
		size_t room = STREAM_BYTES - (s->rx_cnt - s->fwd_cnt);
		size_t len = room < sizeof(block) ? room : sizeof(block);

		guest_write(r, GUEST_PORT, port, block, len);
		total += len;
	}
	return total;
}

/* Takes the credit updates that are due, as a driver would have done. */
static inline void skip_updates(struct rig *r)
{
	struct packet p;

	while (guest_get(r, &p, NULL))
		assert_int_equal(p.op, PACKET_CREDIT_UPDATE);
}

static inline unsigned streams_in_use(const struct rig *r)
{
	return r->core.table.used;
}

#define rig_test(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

/* Tests that need exact control of fetches, or packets whose length differs from their payload's.
 * They cannot run through a port. */
#ifdef RIG_PORT
static inline void rings_alone(void **state)
{
	(void)state;
	print_message("a port fetches packets by itself, and parts them by their lengths\n");
	skip();
}
#define ring_test(f)                                           \
	{                                                      \
#f, ((void)(f), rings_alone), NULL, NULL, NULL \
	}
#else
#define ring_test(f) rig_test(f)
#endif

#endif
