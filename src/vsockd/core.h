/* SPDX-License-Identifier: MIT */
/*
 * The vsock core: streams between Unix sockets of the host and ports of the guest.
 *
 * The core knows packets, ports, credit and the host's sockets. It knows nothing of rings or of
 * vhost-user. A face (device.h, port.h) brings the guest's packets to the core (core_input) and
 * fetches the packets for the guest (core_output). epoll tells the core what happened to the host's
 * sockets. The core stores bytes only if it must: a packet's payload goes from the guest's memory
 * into the host's socket. The core keeps only what the socket does not take, in a buffer of exactly
 * the bytes that were promised to the guest. The host's bytes stay in the host's socket until the
 * guest has room and credit for them, and are then read directly into the guest's room.
 *
 * Everything that waits is a mark on a stream. Each stream that has something for the guest is once
 * in one queue, from which it gets one turn at a time. So a busy stream delays another one by a
 * turn, and nothing grows.
 *
 * Only refusals (RST) are remembered without a stream. A refusal has two possible causes. One is a
 * packet of the guest, and no packet is taken while CORE_REFUSALS are waiting (core_accepts). The
 * other is the end of a stream that the guest knows, so above CORE_REFUSALS there is room for one
 * refusal of each stream.
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

#define CORE_SLOTS 16	  /* the most packets in one turn */
#define CORE_REFUSALS 256 /* if so many are waiting, no packet is taken */
#define CORE_IOV 1024
/* The range of host ports for connections that the host began. A guest may dial the ports below
 * it. */
#define CORE_PORT_FIRST (UINT32_C(1) << 30)
#define CORE_PORT_LAST ((UINT32_C(1) << 31) - 1)
#define CORE_SOCKET_PATH 108

/* A port of the host that the guest may dial. */
struct host_port {
	uint32_t port;
	char path[CORE_SOCKET_PATH]; /* the path that connect() takes; empty: there is no socket */
};

struct core_config {
	uint64_t guest_cid;
	unsigned streams;
	uint32_t stream_bytes; /* buffer of a stream, and the credit the guest gets; a power of 2 */
	uint64_t line_ns;      /* ns to wait for the client's CONNECT line */
	uint64_t answer_ns;    /* ns to wait for the guest's answer to a REQUEST */
	uint64_t close_ns;     /* ns to wait for the guest's RST after both directions have ended */
	const struct host_port *ports;
	unsigned nports;
	int listen_fd; /* where host clients connect; watched by the core. -1: none */
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
	bool linked;	   /* there is a driver; without a driver nobody would answer a REQUEST */
	bool awaits_agent; /* the guest's end of the port has been lost, and another one may come */
	uint32_t next_port;
	uint64_t accept_again; /* ns, when to accept again; 0: the listener is being watched */
	struct iovec iov[CORE_IOV];
};

/* Allocates all memory that the core will ever need, and watches the listener. */
int core_init(struct core *core, const struct core_config *config, struct error *err);
void core_free(struct core *core);

/* Returns true if core_input() may be called. If not, the guest must first fetch packets that wait
 * for it. */
bool core_accepts(const struct core *core);
/* Handles one packet of the guest. If payload is longer than the header says, the rest is ignored;
 * if it is shorter, the packet is refused. The bytes of payload are not needed after the return. */
void core_input(struct core *core, const struct packet *packet, struct span *payload);
/* Returns how many slots the next core_output() can use; 0 if there is nothing for the guest. */
unsigned core_wants(const struct core *core);
/* Puts packets for the guest into up to n slots of more than PACKET_HEADER bytes each, and sets
 * their lengths, which include the header. Returns how many slots were filled, from the first one
 * on; 0 if there is nothing for the guest. */
unsigned core_output(struct core *core, struct span *slots, unsigned n, uint32_t *lengths);

/* Handle an event of epoll for POLL_LISTEN and for POLL_STREAM. */
void core_listen_event(struct core *core);
void core_stream_event(struct core *core, union poll_ref ref, uint32_t events);

/* Returns when core_expire() is to be called, in ns of clock_mono_ns(); UINT64_MAX for never. */
uint64_t core_deadline(const struct core *core);
void core_expire(struct core *core, uint64_t now);

/* Tells the core that a driver has come (true), or that the device has been reset (false), after
 * which the guest knows no stream. Bytes that the guest had sent are still given to the host. */
void core_link(struct core *core, bool linked);
/* Tells the core that the guest's end of a port may have died, and that another end may come. All
 * streams end but those that await the guest's answer: core_link() requests these again, or they
 * end at their deadline. The same holds for streams that clients request in the meantime. */
void core_lose_agent(struct core *core);
/* Accepts no further host clients. */
void core_stop_listening(struct core *core);
/* Returns true if bytes of the guest still wait for a reader on the host. */
bool core_draining(const struct core *core);

#endif
