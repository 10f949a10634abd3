/* SPDX-License-Identifier: MIT */
#include "vsockd/port.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* The most steps that one port_pump() does in each direction. */
#define PUMP_INPUTS 128
#define PUMP_OUTPUTS 16

void port_init(struct port *port, struct core *core, uint64_t guest_cid, int fd, struct log *log)
{
	port->core = core;
	port->log = log;
	port->fd = fd;
	port->guest_cid = guest_cid;
	port->readable = port->writable = true;
	port->heard = port->hung_up = port->ended = port->greets = false;
	port->astray = port->asks = true;
	port->in_at = port->in_end = 0;
	port->unsent = (struct span){0};
}

void port_event(struct port *port, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		port->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		port->hung_up = true;
	if (events & EPOLLOUT)
		port->writable = true;
}

bool port_has_ended(const struct port *port)
{
	return port->ended;
}

/* --- the guest's packets --------------------------------------------------------------------- */

static uint32_t bytes_there(const struct port *port)
{
	return port->in_end - port->in_at;
}

/* Handles the next packet. If the next bytes are not a packet, drops one byte. Returns false if the
 * next packet is not complete. */
static bool take_port_packet(struct port *port)
{
	struct packet packet;

	/* This loop drops bytes up to the next byte at which a HELLO may begin. The loop looks only
	 * at the type of the packet, and so is fast: a guest may send very many bytes that are not
	 * packets. */
	while (port->astray && bytes_there(port) >= PACKET_HEADER &&
	       !packet_may_be_link(port->in + port->in_at))
		port->in_at++;
	if (bytes_there(port) < PACKET_HEADER)
		return false;
	packet_decode(port->in + port->in_at, &packet);
	if (packet_is_link(&packet, LINK_HELLO)) {
		/* A guest that has opened its end of the port again knows no stream. */
		port->number = packet_link_number(&packet);
		port->astray = false;
		port->greets = true;
		core_lose_agent(port->core);
		core_link(port->core, true);
		port->in_at += PACKET_HEADER;
		return true;
	}
	if (!port->astray && (packet.len > PACKET_PAYLOAD || packet.type == PACKET_LINK)) {
		log_limited(port->log,
			    "the guest sent something that is not a packet (%u bytes, type %u)",
			    packet.len, packet.type);
		port->astray = true;
		core_lose_agent(port->core);
	}
	if (port->astray) {
		port->in_at++;
		return true;
	}
	if (bytes_there(port) < PACKET_HEADER + packet.len)
		return false;
	struct iovec iov = {.iov_base = port->in + port->in_at + PACKET_HEADER,
			    .iov_len = packet.len};
	struct span payload = {.iov = &iov, .n = packet.len ? 1 : 0, .bytes = packet.len};
	core_input(port->core, &packet, &payload);
	port->in_at += PACKET_HEADER + packet.len;
	return true;
}

/* Reads the bytes that have come. Returns false if no bytes have come. */
static bool fill_input(struct port *port)
{
	struct iovec iov;
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t got;

	if (!port->readable)
		return false;
	memmove(port->in, port->in + port->in_at, bytes_there(port));
	port->in_end -= port->in_at;
	port->in_at = 0;
	iov = (struct iovec){port->in + port->in_end, sizeof(port->in) - port->in_end};
	got = recvmsg(port->fd, &m, MSG_DONTWAIT);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		port->ended = true;
	/* If the read returns fewer bytes than it had room for, the socket is empty (as in
	 * core_output.c). */
	if (got <= 0 || ((size_t)got < iov.iov_len && !port->hung_up))
		port->readable = got < 0 && errno == EINTR;
	if (got > 0) {
		port->in_end += (uint32_t)got;
		port->heard = true;
	}
	return got > 0;
}

/* Handles packets of the guest. Returns true if there may be more packets. There is always room for
 * the missing bytes of an incomplete packet. */
static bool pump_port_inputs(struct port *port)
{
	for (unsigned done = 0; done < PUMP_INPUTS; done++) {
		if (!core_accepts(port->core))
			return false;
		/* This loop skips bytes that begin no packet. Skipped bytes do not count towards
		 * PUMP_INPUTS. */
		while (port->astray && take_port_packet(port))
			;
		if (!take_port_packet(port) && !fill_input(port))
			return false;
	}
	return true;
}

/* --- packets for the guest ------------------------------------------------------------------- */

/* Sends the bytes in port->unsent. Returns true if all of them were sent. Otherwise the bytes that
 * were not sent stay there, and no new packet is made before they are sent. */
static bool send_unsent(struct port *port)
{
	struct msghdr m = {.msg_iov = port->unsent.iov, .msg_iovlen = port->unsent.n};
	ssize_t done;

	if (!port->unsent.bytes)
		return true;
	if (!port->writable)
		return false;
	done = sendmsg(port->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done < 0 && errno != EINTR)
		port->writable = false; /* a failure is reported when the port is read */
	if (done > 0)
		span_skip(&port->unsent, (size_t)done);
	return !port->unsent.bytes;
}

static void compose(struct port *port, unsigned filled, const uint32_t *lengths)
{
	port->unsent = (struct span){.iov = port->out, .n = filled};
	for (unsigned i = 0; i < filled; i++) {
		port->out[i] = (struct iovec){port->slots[i], lengths[i]};
		port->unsent.bytes += lengths[i];
	}
}

static void compose_link(struct port *port)
{
	static const uint32_t length = PACKET_HEADER;
	const struct packet p = port->greets
					? packet_link(LINK_WELCOME, port->guest_cid, port->number)
					: packet_link(LINK_ASK, port->guest_cid, 0);

	port->greets = port->asks = false;
	packet_encode(&p, port->slots[0]);
	compose(port, 1, &length);
}

static void compose_packets(struct port *port)
{
	unsigned wanted = core_wants(port->core), n = wanted < PORT_SLOTS ? wanted : PORT_SLOTS;
	struct iovec iov[PORT_SLOTS];
	struct span slots[PORT_SLOTS];
	uint32_t lengths[PORT_SLOTS];

	for (unsigned i = 0; i < n; i++) {
		iov[i] = (struct iovec){port->slots[i], PACKET_WHOLE};
		slots[i] = (struct span){.iov = &iov[i], .n = 1, .bytes = PACKET_WHOLE};
	}
	if (n)
		compose(port, core_output(port->core, slots, n, lengths), lengths);
}

/* Sends packets to the guest. Returns true if there are more packets, and room for them. */
static bool pump_port_outputs(struct port *port)
{
	for (unsigned round = 0; round < PUMP_OUTPUTS; round++) {
		if (!send_unsent(port))
			return port->writable;
		if (port->asks || port->greets)
			compose_link(port);
		else
			compose_packets(port);
		if (!port->unsent.bytes)
			return false;
	}
	return true;
}

bool port_pump(struct port *port)
{
	bool more, blocked;

	if (port->fd < 0)
		return false;
	more = pump_port_inputs(port);
	blocked = !core_accepts(port->core);
	more |= pump_port_outputs(port);
	return more || (blocked && core_accepts(port->core));
}
