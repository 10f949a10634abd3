/* SPDX-License-Identifier: MIT */
/*
 * Receives and sends the frames of a VMM that has a tap, through a packet socket on the other side
 * of the tap (PACKET_VNET_HDR). A guest may let its network card compute checksums and cut long
 * frames into segments. netgate computes the checksums, since no other program does. netgate does
 * not cut frames: a long frame stays long, and passt accepts it.
 */
#ifndef NETGATE_PACKET_H
#define NETGATE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number of bytes of the header before a frame: struct virtio_net_hdr of virtio 1.2, 5.1.6,
 * without num_buffers. */
#define PACKET_HEADER 10
#define PACKET_FRAME_MAX 65549 /* size in bytes of an Ethernet header and the longest IPv4 packet */

/* Returns true if the descriptor is a packet socket. */
bool packet_is(int fd);
/* Reads the next frame of at most PACKET_FRAME_MAX bytes; skips longer frames. Returns the length
 * of the frame; 0 if there is no frame now; -1 if the interface is gone. */
ssize_t packet_receive(int fd, uint8_t *frame);
/* Sends a frame. Returns 1 if the frame was sent, or was lost as any network may lose frames.
 * Returns 0 if the frame cannot be sent now, -1 if the interface is gone. */
int packet_send(int fd, const uint8_t *frame, size_t len);
/* Computes the one's complement checksum of the bytes from the offset `start` to the end of the
 * frame, and stores it in the 16 bits at start + offset. */
void packet_complete(uint8_t *frame, size_t len, size_t start, size_t offset);

#endif
