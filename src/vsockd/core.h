/* SPDX-License-Identifier: MIT */
/*
 * The vsock core: streams between Unix sockets of the host and ports of the guest.
 *
 * It knows packets, ports, credit and the host's sockets; it knows nothing of rings or of
 * vhost-user. A face brings it the guest's packets (core_input) and fetches the guest's next ones
 * (core_output); epoll brings it what happened to the host's sockets. Bytes do not rest here if it
 * can be helped: a packet's payload goes from the guest's memory into the host's socket, and only
 * what the socket does not take is kept, in a buffer of exactly the bytes which the guest was
 * promised. The host's bytes stay in the host's socket until the guest has room and credit, and are
 * read straight into it.
 *
 * Everything that is waiting is a mark on a stream, and each stream that has something for the
 * guest stands once in one queue, from which it gets one turn at a time. So a busy stream delays
 * another by a turn, and nothing grows.
 *
 * The one thing that is remembered without a stream is a refusal (RST). A refusal is only caused by
 * a packet of the guest, which is not taken while CORE_REFUSALS are waiting (core_accepts), or by
 * the end of a stream which the guest knows; so there is room for one of each stream above that.
 */
#ifndef VSOCKD_CORE_H
#define VSOCKD_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/packet.h"
#include "vsockd/poll.h"
#include "vsockd/span.h"
#include "vsockd/stream.h"

#define CORE_SLOTS 16	  /* packets of one turn */
#define CORE_REFUSALS 256 /* waiting, above which no packet is taken */
#define CORE_IOV 1024
/* Host ports of connections that the host began; below are the ports a guest may dial. */
#define CORE_PORT_FIRST (UINT32_C(1) << 30)
#define CORE_PORT_LAST ((UINT32_C(1) << 31) - 1)
#define CORE_SOCKET_PATH 108

/* A port of the host that the guest may dial. */
struct host_port {
	uint32_t port;
	char path[CORE_SOCKET_PATH]; /* as connect() takes it; empty: there is no socket */
};

struct core_config {
	uint64_t guest_cid;
	unsigned streams;
	uint32_t stream_bytes; /* buffer of a stream, and the credit the guest gets; a power of 2 */
	uint64_t line_ns;      /* CONNECT line */
	uint64_t answer_ns;    /* the guest's answer to a REQUEST */
	uint64_t close_ns;     /* the guest's RST after both directions have ended */
	const struct host_port *ports;
	unsigned nports;
	int listen_fd; /* host clients; watched by the core. -1: none */
	int epfd;
	struct log *log;
};

struct refusal {
	uint64_t src_cid;
	uint64_t dst_cid;
	uint32_t src_port;
	uint32_t dst_port;
	uint16_t type;
};

struct core {
	struct core_config config;
	struct stream_table table;
	struct refusal *refusals; /* a ring */
	unsigned refusals_size;
	unsigned refusals_at;
	unsigned refusals_count;
	bool linked;	   /* a driver is there; without one nobody would answer a REQUEST */
	bool awaits_agent; /* a port's end has been lost, and another one may come */
	uint32_t next_port;
	uint64_t accept_again; /* ns; 0: the listener is being watched */
	struct iovec iov[CORE_IOV];
};

/* Allocates all that will ever be needed and watches the listener. */
int core_init(struct core *core, const struct core_config *config, struct error *err);
void core_free(struct core *core);

/* Whether core_input() may be called. If not, the guest must first fetch packets that are for it.
 */
bool core_accepts(const struct core *core);
/* One packet of the guest. payload may be longer than the header says, the rest is ignored; if it
 * is shorter the packet is refused. Its bytes have been used when this returns. */
void core_input(struct core *core, const struct packet *packet, struct span *payload);
/* How many slots the next core_output() can use, 0 if there is nothing for the guest. */
unsigned core_wants(const struct core *core);
/* Puts packets for the guest into up to n slots of more than PACKET_HEADER bytes each and tells
 * their lengths, header and all. Returns how many were filled, the first ones; 0: nothing to say.
 */
unsigned core_output(struct core *core, struct span *slots, unsigned n, uint32_t *lengths);

/* What epoll says of POLL_LISTEN and POLL_STREAM. */
void core_listen_event(struct core *core);
void core_stream_event(struct core *core, union poll_ref ref, uint32_t events);

/* When core_expire() wants to be called: ns on clock_mono_ns(), UINT64_MAX for never. */
uint64_t core_deadline(const struct core *core);
void core_expire(struct core *core, uint64_t now);

/* A driver has come (true), or the device has been reset (false): the guest knows no stream any
 * more. What the guest had sent is still given to the host. */
void core_link(struct core *core, bool linked);
/* The guest's end of a port may have died, and another one will come, or not: all streams are over
 * but those that await its answer, which are asked for again by core_link() or end at their
 * deadline. So are those that clients ask for meanwhile. */
void core_lose_agent(struct core *core);
/* No further host clients. */
void core_stop_listening(struct core *core);
/* Whether bytes of the guest are still waiting for a host's reader. */
bool core_draining(const struct core *core);

#endif
