/* SPDX-License-Identifier: MIT */
/*
 * Receives and sends the frames of a VMM that has a tap, through a packet socket on the tap's other
 * side (PACKET_VNET_HDR). A guest may leave the computing of checksums to its network card. netgate
 * computes them, since no other program does. A guest may also leave the cutting into segments to
 * its card. netgate does not cut frames: a long frame stays long, and passt accepts it.
 */
#ifndef NETGATE_PACKET_H
#define NETGATE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The bytes of the header before a frame: that of virtio 1.2, 5.1.6, without num_buffers. */
#define PACKET_HEADER 10
#define PACKET_FRAME_MAX 65549 /* the header of Ethernet and the longest IPv4 packet */

/* Returns true if the descriptor is a packet socket. */
bool packet_is(int fd);
/* Reads the next frame of at most PACKET_FRAME_MAX bytes; skips longer frames. Returns its length;
 * 0 if there is no frame now; -1 if the interface is gone. */
ssize_t packet_receive(int fd, uint8_t *frame);
/* Sends a frame. Returns 1 if the frame was sent, or is lost as it could be on any wire; 0 if it
 * cannot be sent now; -1 if the interface is gone. */
int packet_send(int fd, const uint8_t *frame, size_t len);
/* Computes the one's complement checksum of the bytes from start to the end of the frame, and
 * stores it in the 16 bits at start + offset. */
void packet_complete(uint8_t *frame, size_t len, size_t start, size_t offset);

#endif
