/* SPDX-License-Identifier: MIT */
#include "vsockd/packet.h"

#include <assert.h>
#include <endian.h>
#include <linux/virtio_vsock.h>
#include <string.h>

static_assert(sizeof(struct virtio_vsock_hdr) == PACKET_HEADER, "as the standard has it");
static_assert((int)PACKET_CREDIT_REQUEST == (int)VIRTIO_VSOCK_OP_CREDIT_REQUEST,
	      "as the standard has it");

void packet_decode(const uint8_t raw[PACKET_HEADER], struct packet *packet)
{
	struct virtio_vsock_hdr h;

	memcpy(&h, raw, sizeof(h));
	*packet = (struct packet){
		.src_cid = le64toh(h.src_cid),
		.dst_cid = le64toh(h.dst_cid),
		.src_port = le32toh(h.src_port),
		.dst_port = le32toh(h.dst_port),
		.len = le32toh(h.len),
		.type = le16toh(h.type),
		.op = le16toh(h.op),
		.flags = le32toh(h.flags),
		.buf_alloc = le32toh(h.buf_alloc),
		.fwd_cnt = le32toh(h.fwd_cnt),
	};
}

void packet_encode(const struct packet *packet, uint8_t raw[PACKET_HEADER])
{
	struct virtio_vsock_hdr h = {
		.src_cid = htole64(packet->src_cid),
		.dst_cid = htole64(packet->dst_cid),
		.src_port = htole32(packet->src_port),
		.dst_port = htole32(packet->dst_port),
		.len = htole32(packet->len),
		.type = htole16(packet->type),
		.op = htole16(packet->op),
		.flags = htole32(packet->flags),
		.buf_alloc = htole32(packet->buf_alloc),
		.fwd_cnt = htole32(packet->fwd_cnt),
	};

	memcpy(raw, &h, sizeof(h));
}
