/* SPDX-License-Identifier: MIT */
/*
 * The definitions on which the host and the agent of a guest must agree: the ports, and the binary
 * frames of streaming mode. If the payload of a frame (base/frame.h) begins with '{', it is JSON.
 * Any other payload has this layout:
 *
 *   type (1 byte), request number (8 bytes, big-endian), raw bytes up to the payload's end
 *
 * docs/agent-protocol.md describes the JSON and the order of messages.
 */
#ifndef BASE_AGENT_WIRE_H
#define BASE_AGENT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/* The vsock port of the guest on which the agent listens. The agent begins to listen on this port
 * before any workload runs. */
#define AGENT_PORT 2222
/* The vsock port of the host for the control stream. The host accepts one connection to this port
 * in each boot. */
#define CONTROL_PORT 1024
/* The vsock port of the host for the link: one connection that carries all streams as packets
 * (base/packet.h). A machine has a link if its VMM's vsock device cannot close only one direction
 * of a stream. The guest's PID 1 makes this connection once in each boot, before any workload
 * runs. */
#define LINK_PORT 1023
/* The name of a socket in the workspace of a machine that has a link. Streams through this socket
 * go over the link, so that one direction of a stream can be closed. The socket leads only to the
 * guest's agent and to the guest's published ports, while vsock.sock leads to all ports. The socket
 * has the name AGENT_SOCK_EARLY until the agent has reported that it serves the link. */
#define AGENT_SOCK "agent.sock"
#define AGENT_SOCK_EARLY AGENT_SOCK ".early"
/* A connection to the vsock port PUBLISH_PORT_FIRST + P of the guest is led to its published TCP
 * port P. */
#define PUBLISH_PORT_FIRST 65536u

/* The directory of a guest in which containers find the files that the host shares with them. Only
 * machines of microagent-oci have it. */
#define CONTAINERS_MOUNTPOINT "/run/microagent-containers"

/* The beginning of each line that init writes on the serial console. */
#define INIT_LINE_PREFIX "microagent-init: "
/* The last line of init in a machine whose VMM can be ended only by a reset. The line tells the
 * host that the reset is a power-off, and that all file systems have been written to the disk. */
#define ORDERLY_END_LINE "the machine ends in order"

/* A request in the envelope form (docs/agent-protocol.md) for an operation that no agent knows.
 * Every agent answers this request with one line, an error. The line shows the host that the agent
 * listens. */
#define AGENT_PING "{\"op\":\"ping\",\"payload\":{}}\n"

enum agent_frame { AGENT_FRAME_STDIN = 1, AGENT_FRAME_STDOUT = 2, AGENT_FRAME_STDERR = 3 };
/* The size in bytes of the type and the request number, which come before the raw bytes in a
 * frame's payload. */
#define AGENT_DATA_HEADER 9
/* The size in bytes of everything before the raw bytes: the frame's header, the type and the
 * request number. */
#define AGENT_DATA_FRONT (FRAME_HEADER + AGENT_DATA_HEADER)

/* Writes the first AGENT_DATA_FRONT bytes of a frame, which come before its `len` raw bytes. `len`
 * must be at most FRAME_MAX - AGENT_DATA_HEADER. */
static inline void agent_data_front(uint8_t front[AGENT_DATA_FRONT], enum agent_frame type,
				    uint64_t request, size_t len)
{
	be32_put(front, (uint32_t)(AGENT_DATA_HEADER + len));
	front[FRAME_HEADER] = (uint8_t)type;
	be64_put(front + FRAME_HEADER + 1, request);
}

#endif
