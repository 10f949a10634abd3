/* SPDX-License-Identifier: MIT */
#include "netgate/packet.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <sys/socket.h>

/* The header that the kernel puts before a frame, in the byte order of this host. */
struct card_header {
	uint8_t flags, gso_type;
	uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
_Static_assert(sizeof(struct card_header) == PACKET_HEADER, "as the kernel has it");

/* One received or sent frame with its header. The buffer is static because no memory is allocated
 * while netgate runs. */
static uint8_t held[sizeof(struct card_header) + PACKET_FRAME_MAX];

bool packet_is(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_PACKET;
}

void packet_complete(uint8_t *frame, size_t len, size_t start, size_t offset)
{
	uint64_t sum = 0;

	if (start >= len || offset > len - start || len - start - offset < 2)
		return;
	for (size_t i = start; i + 1 < len; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	if ((len - start) & 1)
		sum += (uint32_t)frame[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	uint16_t value = (uint16_t)~sum;
	if (value == 0)
		/* The checksum 0 is stored as 0xffff, which is the same number in one's complement.
		 * In UDP a stored 0 would mean that there is no checksum. */
		value = 0xffff;
	frame[start + offset] = (uint8_t)(value >> 8);
	frame[start + offset + 1] = (uint8_t)value;
}

ssize_t packet_receive(int fd, uint8_t *frame)
{
	struct card_header header;
	ssize_t n;

	do
		n = recv(fd, held, sizeof(held), MSG_DONTWAIT | MSG_TRUNC);
	while (n > (ssize_t)sizeof(held));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n <= (ssize_t)sizeof(header))
		return 0;
	memcpy(&header, held, sizeof(header));
	n -= (ssize_t)sizeof(header);
	memcpy(frame, held + sizeof(header), (size_t)n);
	if (header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		packet_complete(frame, (size_t)n, header.csum_start, header.csum_offset);
	return n;
}

int packet_send(int fd, const uint8_t *frame, size_t len)
{
	const struct card_header none = {0};
	ssize_t n;

	if (len > PACKET_FRAME_MAX)
		return 1;
	memcpy(held, &none, sizeof(none));
	memcpy(held + sizeof(none), frame, len);
	do
		n = send(fd, held, sizeof(none) + len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0 || errno == ENOBUFS || errno == EMSGSIZE)
		return 1;
	return errno == EAGAIN ? 0 : -1;
}
