/* SPDX-License-Identifier: MIT */
/*
 * The frames of a VMM that has a tap, through a packet socket on the tap's other side
 * (PACKET_VNET_HDR). A guest may leave checksums to its card; they are completed here, since no
 * other program does it. A guest may also leave the cutting into segments to its card: a long frame
 * stays long, and passt accepts it.
 */
#ifndef NETGATE_PACKET_H
#define NETGATE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PACKET_HEADER 10       /* bytes before a frame, as in virtio 1.2, 5.1.6, without buffers */
#define PACKET_FRAME_MAX 65549 /* Ethernet's header and the longest IPv4 packet */

/* Returns true if the descriptor is such a packet socket. */
bool packet_is(int fd);
/* Reads the next whole frame of at most PACKET_FRAME_MAX bytes, and skips longer ones. Returns its
 * length; 0 if there is none now; -1 if the interface is gone. */
ssize_t packet_receive(int fd, uint8_t *frame);
/* Sends a frame. Returns 1 if it was sent, or lost as on any wire; 0 if it cannot be sent now; -1
 * if the interface is gone. */
int packet_send(int fd, const uint8_t *frame, size_t len);
/* Stores the one's complement checksum of the bytes from start on in the 16 bits at start +
 * offset. */
void packet_complete(uint8_t *frame, size_t len, size_t start, size_t offset);

#endif
