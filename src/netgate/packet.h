/* SPDX-License-Identifier: MIT */
/*
 * Frames of a VMM that has a tap, by a packet socket on the tap's other side (PACKET_VNET_HDR). A
 * guest may leave checksums to its card; they are completed here, since nobody else will. It may
 * also leave the cutting into segments: a long frame stays as it is, which passt takes.
 */
#ifndef NETGATE_PACKET_H
#define NETGATE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PACKET_HEADER 10       /* in front of a frame, as of virtio 1.2, 5.1.6, without buffers */
#define PACKET_FRAME_MAX 65549 /* Ethernet's header and the longest of IPv4 */

/* Whether the descriptor is such a socket. */
bool packet_is(int fd);
/* The next frame, whole, of at most PACKET_FRAME_MAX bytes; what is longer is passed over. 0: none
 * now; -1: the interface has gone. */
ssize_t packet_receive(int fd, uint8_t *frame);
/* 1: it is sent, or lost as on any wire; 0: not now; -1: the interface has gone. */
int packet_send(int fd, const uint8_t *frame, size_t len);
/* The one's complement of the bytes from start on becomes the 16 bits at start + offset. */
void packet_complete(uint8_t *frame, size_t len, size_t start, size_t offset);

#endif
