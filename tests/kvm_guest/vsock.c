/* SPDX-License-Identifier: MIT */
/*
 * Streams. What is to be echoed goes back in the buffer that it came in: the buffer leaves the
 * receiving queue, gets the other direction's header, waits for credit if it must, and returns to
 * the receiving queue once it is sent.
 */
#include "guest.h"

enum { RX_BUFFERS = 32, RX_BYTES = 16384, TX_BUFFERS = 32, TX_BYTES = 1024, STREAMS = 16 };
enum { CREDIT = 131072, HOST_CID = 2, FIRST_PORT = 1030 };
enum {
	OP_REQUEST = 1,
	OP_RESPONSE,
	OP_RST,
	OP_SHUTDOWN,
	OP_RW,
	OP_CREDIT_UPDATE,
	OP_CREDIT_REQUEST
};

struct header {
	uint64_t src_cid, dst_cid;
	uint32_t src_port, dst_port, len;
	uint16_t type, op;
	uint32_t flags, buf_alloc, fwd_cnt;
} __attribute__((packed));

struct stream {
	bool used, closing;
	uint32_t port, peer_port;
	uint32_t taken, sent; /* bytes, in all */
	uint32_t peer_alloc, peer_taken;
};

static struct rx_buffer {
	struct header header;
	char bytes[RX_BYTES - sizeof(struct header)];
} rx[RX_BUFFERS];
static struct tx_buffer {
	struct header header;
	char bytes[TX_BYTES - sizeof(struct header)];
} tx[TX_BUFFERS];
static bool tx_busy[TX_BUFFERS];
static struct stream streams[STREAMS];
static uint8_t held[RX_BUFFERS]; /* what waits for credit, in its order */
static unsigned held_count;
static uint64_t cid;

static struct stream *find_stream(uint32_t port, uint32_t peer_port)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (streams[i].used && streams[i].port == port && streams[i].peer_port == peer_port)
			return &streams[i];
	return NULL;
}

static struct stream *new_stream(uint32_t port, uint32_t peer_port)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		if (streams[i].used)
			continue;
		streams[i] = (struct stream){.used = true, .port = port, .peer_port = peer_port};
		return &streams[i];
	}
	return NULL;
}

static void put_header(struct header *header, const struct stream *stream, uint16_t op,
		       uint32_t flags, uint32_t len)
{
	*header = (struct header){cid, HOST_CID, stream->port, stream->peer_port, len, 1,
				  op,  flags,	 CREDIT,       stream->taken};
}

/* In the numbers of the sending queue, own buffers come after the receiving ones. */
static void send_packet(struct stream *stream, uint16_t op, uint32_t flags, const void *bytes,
			uint32_t len)
{
	unsigned i = 0;

	while (i < TX_BUFFERS && tx_busy[i])
		i++;
	if (i == TX_BUFFERS || len > sizeof(tx[i].bytes)) {
		say("kvm-guest: no room for a packet\n");
		return;
	}
	tx_busy[i] = true;
	put_header(&tx[i].header, stream, op, flags, len);
	if (len)
		__builtin_memcpy(tx[i].bytes, bytes, len);
	stream->sent += len;
	virtio_put(QUEUE_TX, RX_BUFFERS + i, &tx[i], sizeof(struct header) + len, false);
	virtio_kick(QUEUE_TX);
}

void stream_send(struct stream *stream, const void *bytes, uint32_t len)
{
	send_packet(stream, OP_RW, 0, bytes, len);
}

void stream_close(struct stream *stream)
{
	send_packet(stream, OP_SHUTDOWN, 3, NULL, 0);
}

struct stream *vsock_connect(uint32_t host_port)
{
	struct stream *stream = new_stream(FIRST_PORT, host_port);

	send_packet(stream, OP_REQUEST, 0, NULL, 0);
	return stream;
}

static void give_buffer(unsigned number)
{
	virtio_put(QUEUE_RX, number, &rx[number], RX_BYTES, true);
	virtio_kick(QUEUE_RX);
}

/* --- the echo -------------------------------------------------------------------------------- */

/* Returns false if the host has no room for it yet. */
static bool turn_around(struct stream *stream, unsigned number)
{
	uint32_t len = rx[number].header.len;

	if (stream->sent - stream->peer_taken + len > stream->peer_alloc)
		return false;
	stream->taken += len;
	stream->sent += len;
	put_header(&rx[number].header, stream, OP_RW, 0, len);
	virtio_put(QUEUE_TX, number, &rx[number], sizeof(struct header) + len, false);
	virtio_kick(QUEUE_TX);
	return true;
}

static void drop_held(unsigned at)
{
	held_count--;
	for (unsigned i = at; i < held_count; i++)
		held[i] = held[i + 1];
}

static void turn_held_around(void)
{
	for (unsigned i = 0; i < held_count;) {
		const struct header *header = &rx[held[i]].header;
		struct stream *stream = find_stream(header->dst_port, header->src_port);

		if (!stream)
			give_buffer(held[i]);
		else if (!turn_around(stream, held[i]))
			return;
		drop_held(i);
	}
}

static void echo(struct stream *stream, unsigned number)
{
	if (held_count || !turn_around(stream, number))
		held[held_count++] = (uint8_t)number;
}

/* --- what comes ------------------------------------------------------------------------------ */

static void on_request(const struct header *header)
{
	struct stream nobody = {.port = header->dst_port, .peer_port = header->src_port};
	struct stream *stream = NULL;

	if (header->dst_port == PORT_AGENT || header->dst_port == PORT_ECHO)
		stream = new_stream(header->dst_port, header->src_port);
	if (!stream) {
		send_packet(&nobody, OP_RST, 0, NULL, 0);
		return;
	}
	stream->peer_alloc = header->buf_alloc;
	send_packet(stream, OP_RESPONSE, 0, NULL, 0);
}

/* Returns false if the buffer is on its way back. */
static bool on_data(struct stream *stream, unsigned number)
{
	if (stream->port == PORT_ECHO) {
		echo(stream, number);
		return false;
	}
	stream->taken += rx[number].header.len;
	send_packet(stream, OP_CREDIT_UPDATE, 0, NULL, 0);
	on_bytes(stream, stream->port == FIRST_PORT ? PORT_CONTROL : stream->port, rx[number].bytes,
		 rx[number].header.len);
	return true;
}

/* Returns true if the buffer may be filled again. */
static bool on_packet(unsigned number)
{
	const struct header *header = &rx[number].header;
	struct stream *stream = find_stream(header->dst_port, header->src_port);

	if (header->op == OP_REQUEST && !stream)
		on_request(header);
	if (!stream)
		return true;
	stream->peer_alloc = header->buf_alloc;
	stream->peer_taken = header->fwd_cnt;
	switch (header->op) {
	case OP_RESPONSE:
		on_connected(stream);
		break;
	case OP_RST:
		stream->used = false;
		break;
	case OP_SHUTDOWN:
		stream->closing = true;
		break;
	case OP_RW:
		return on_data(stream, number);
	case OP_CREDIT_REQUEST:
		send_packet(stream, OP_CREDIT_UPDATE, 0, NULL, 0);
		break;
	}
	return true;
}

/* A peer that sends no more gets all of its echo first. */
static void close_what_is_over(void)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		if (!streams[i].used || !streams[i].closing || held_count)
			continue;
		streams[i].closing = false;
		stream_close(&streams[i]);
	}
}

void vsock_run(void)
{
	uint32_t len;
	int number;

	while ((number = virtio_take(QUEUE_TX, &len)) >= 0) {
		if (number < RX_BUFFERS)
			give_buffer((unsigned)number);
		else
			tx_busy[number - RX_BUFFERS] = false;
	}
	while ((number = virtio_take(QUEUE_RX, &len)) >= 0)
		if (on_packet((unsigned)number))
			give_buffer((unsigned)number);
	turn_held_around();
	close_what_is_over();
}

bool vsock_begin(void)
{
	if (!virtio_begin(&cid))
		return false;
	for (unsigned i = 0; i < RX_BUFFERS; i++)
		virtio_put(QUEUE_RX, i, &rx[i], RX_BYTES, true);
	virtio_kick(QUEUE_RX);
	return true;
}
