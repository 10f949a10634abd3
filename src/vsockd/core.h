/* SPDX-License-Identifier: MIT */
/*
 * The vsock core: streams between Unix sockets of the host and ports of the guest.
 *
 * The core knows packets, ports, credit and the host's sockets. The core knows nothing about rings
 * and vhost-user. A face (device.h, port.h) brings the guest's packets to the core (core_input) and
 * fetches the packets for the guest (core_output). epoll tells the core what happened to the host's
 * sockets. The core stores bytes only if it must. The core writes a packet's payload from the
 * guest's memory directly to the host's socket, and keeps only the bytes that the socket does not
 * take. The buffer of a stream has exactly the size that was promised to the guest. The host's
 * bytes stay in the host's socket until the guest has room and credit for them, and are then read
 * directly into the guest's memory.
 *
 * Work that waits is noted in its stream. One queue has each stream that has something for the
 * guest, and has each such stream only once. A stream at the front of the queue gets one turn. So a
 * busy stream delays another stream by one turn, and the queue needs no memory.
 *
 * Only a refusal (RST) is remembered without a stream. A refusal has one of two causes. One cause
 * is a packet of the guest, but no packet is taken while CORE_REFUSALS are waiting (core_accepts).
 * The other cause is the end of a stream that the guest knows. So there is room for CORE_REFUSALS
 * refusals, and for one more of each stream.
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

#define CORE_SLOTS 16	  /* the most packets that a stream sends in one turn */
#define CORE_REFUSALS 256 /* while this number of refusals wait, no packet of the guest is taken */
#define CORE_IOV 1024
/* The first and the last port of the host for connections that the host begins. The guest may dial
 * only ports below this range. */
#define CORE_PORT_FIRST (UINT32_C(1) << 30)
#define CORE_PORT_LAST ((UINT32_C(1) << 31) - 1)
#define CORE_SOCKET_PATH 108

/* A port of the host that the guest may dial. */
struct host_port {
	uint32_t port;
	char path[CORE_SOCKET_PATH]; /* the path for connect(); empty: the port has no socket */
};

struct core_config {
	uint64_t guest_cid;
	unsigned streams;
	/* The size of a stream's buffer in bytes, which is also the credit that the guest gets; a
	 * power of 2. */
	uint32_t stream_bytes;
	uint64_t line_ns;   /* the time in ns to wait for the client's CONNECT line */
	uint64_t answer_ns; /* the time in ns to wait for the guest's answer to a REQUEST */
	/* The time in ns to wait for the guest's RST after both directions have ended. */
	uint64_t close_ns;
	const struct host_port *ports;
	unsigned nports;
	/* The listener for host clients, which the core watches; -1: there is no listener. */
	int listen_fd;
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
	struct refusal *refusals; /* a ring of refusals_size entries */
	unsigned refusals_size;
	unsigned refusals_at;
	unsigned refusals_count;
	bool linked; /* the guest has a driver or an agent that would answer a REQUEST */
	/* The guest's end of the port was lost, and the guest may open it again. */
	bool awaits_agent;
	uint32_t next_port;
	/* The monotonic time, in ns, at which the listener is watched again after accept() has
	 * failed; 0: the listener is watched. */
	uint64_t accept_again;
	struct iovec iov[CORE_IOV];
};

/* Allocates all memory that the core will ever need, and watches the listener. Returns 0, or -1
 * with an error. */
int core_init(struct core *core, const struct core_config *config, struct error *err);
void core_free(struct core *core);

/* Returns true if core_input() may be called. Otherwise too many refusals are waiting, and the face
 * must first give packets to the guest with core_output(). */
bool core_accepts(const struct core *core);
/* Handles one packet of the guest. If `payload` has more bytes than the packet's header says, the
 * surplus bytes are ignored. If `payload` has fewer bytes, the stream ends. The memory of `payload`
 * is not used after the return. */
void core_input(struct core *core, const struct packet *packet, struct span *payload);
/* Returns how many slots the next core_output() can use; 0 if there is nothing for the guest. */
unsigned core_wants(const struct core *core);
/* Puts packets for the guest into up to n slots. A slot is memory for one packet, and must have
 * room for more than PACKET_HEADER bytes. lengths[i] is set to the length of the packet in
 * slots[i], including its header. Returns how many slots were filled, from slots[0] on; 0 if there
 * was nothing for the guest. */
unsigned core_output(struct core *core, struct span *slots, unsigned n, uint32_t *lengths);

/* Functions that handle an event of epoll: core_listen_event() handles an event of the type
 * POLL_LISTEN, core_stream_event() an event of the type POLL_STREAM. */
void core_listen_event(struct core *core);
void core_stream_event(struct core *core, union poll_ref ref, uint32_t events);

/* Returns the time at which core_expire() must be called, in ns of clock_mono_ns(); UINT64_MAX:
 * core_expire() need not be called. */
uint64_t core_deadline(const struct core *core);
/* Ends the streams whose deadline has passed. If accept() has failed, and the time
 * core->accept_again has passed, watches the listener again. */
void core_expire(struct core *core, uint64_t now);

/* Tells the core that a driver has come (true), or that the device was reset (false). After a reset
 * the guest knows no stream, so all streams with the guest end. Bytes that the guest has sent
 * before the reset are still given to the host. */
void core_link(struct core *core, bool linked);
/* Tells the core that the guest's end of the port may have died, and that the guest may open it
 * again. All streams with the guest end, except those that await the guest's answer to a REQUEST.
 * The next core_link(true) sends their REQUESTs again. If that call comes too late, these streams
 * end at their deadlines. A stream that a client requests before core_link(true) waits for that
 * call too. */
void core_lose_agent(struct core *core);
/* Stops accepting host clients. */
void core_stop_listening(struct core *core);
/* Returns true if a stream has ended for the guest, and a reader on the host has not yet taken its
 * last bytes. */
bool core_draining(const struct core *core);

#endif
