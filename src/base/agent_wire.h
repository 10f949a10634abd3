/* SPDX-License-Identifier: MIT */
/*
 * The wire between host and guest, as far as both sides must agree on it: the ports, and the binary
 * frames of streaming mode. A frame (base/frame.h) whose first byte is '{' is JSON; any other
 * begins with
 *
 *   type (1 byte), request number (8 bytes, big-endian), raw bytes up to the frame's end
 *
 * docs/agent-protocol.md has the JSON and the order of things.
 */
#ifndef BASE_AGENT_WIRE_H
#define BASE_AGENT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define AGENT_PORT 2222	  /* in the guest: its agent, bound before any workload runs */
#define CONTROL_PORT 1024 /* on the host: the control stream, accepted once a boot */
/* On the host: the link, one connection a boot that PID 1 makes before any workload runs. Packets go
 * over it (base/packet.h) where the VMM's vsock device does not hand on the end of one side. */
#define LINK_PORT 1023
/* In a workspace with a link: leads to the guest's agent and to its published ports alone, as
 * vsock.sock leads to all ports, and hands on the end of one side. The other name it has before the
 * agent has said that it serves the link. */
#define AGENT_SOCK "agent.sock"
#define AGENT_SOCK_EARLY AGENT_SOCK ".early"
/* In the guest: a published TCP port P is this vsock port and P. */
#define PUBLISH_PORT_FIRST 65536u

/* In the guest: what is shared of the host for containers, where there are such. */
#define CONTAINERS_MOUNTPOINT "/run/microagent-containers"

/* What init says on the serial console begins so. */
#define INIT_LINE_PREFIX "microagent-init: "
/* Its last line where a reset is how the machine is switched off: its file systems are on the disk. */
#define ORDERLY_END_LINE "the machine ends in order"

/* An envelope that asks for nothing: any agent answers it with a line, a refusal. */
#define AGENT_PING "{\"op\":\"ping\",\"payload\":{}}\n"

enum agent_frame { AGENT_FRAME_STDIN = 1, AGENT_FRAME_STDOUT = 2, AGENT_FRAME_STDERR = 3 };
/* Of a frame's payload, before the raw bytes. */
#define AGENT_DATA_HEADER 9
/* The same with the frame's length. */
#define AGENT_DATA_FRONT (FRAME_HEADER + AGENT_DATA_HEADER)

/* What stands before len raw bytes; len is at most FRAME_MAX - AGENT_DATA_HEADER. */
static inline void agent_data_front(uint8_t front[AGENT_DATA_FRONT], enum agent_frame type,
				    uint64_t request, size_t len)
{
	be32_put(front, (uint32_t)(AGENT_DATA_HEADER + len));
	front[FRAME_HEADER] = (uint8_t)type;
	be64_put(front + FRAME_HEADER + 1, request);
}

#endif
