/* SPDX-License-Identifier: MIT */
/*
 * What the host and the agent of a guest must agree on: the ports, and the binary frames of
 * streaming mode. A frame (base/frame.h) whose first byte is '{' is JSON. Any other frame begins
 * with
 *
 *   type (1 byte), request number (8 bytes, big-endian), raw bytes up to the frame's end
 *
 * docs/agent-protocol.md describes the JSON and the order of messages.
 */
#ifndef BASE_AGENT_WIRE_H
#define BASE_AGENT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define AGENT_PORT 2222	  /* in the guest: the agent's port, bound before any workload runs */
#define CONTROL_PORT 1024 /* on the host: the control stream, accepted once in each boot */
/* On the host: the port of the link. The guest's PID 1 makes one connection to it in each boot,
 * before any workload runs. The link carries packets (base/packet.h) where the VMM's vsock device
 * does not pass on the end of one side. */
#define LINK_PORT 1023
/* A socket in a workspace with a link. It leads only to the guest's agent and to the guest's
 * published ports, while vsock.sock leads to all ports, and it passes on the end of one side. The
 * socket has the second name until the agent has said that it serves the link. */
#define AGENT_SOCK "agent.sock"
#define AGENT_SOCK_EARLY AGENT_SOCK ".early"
/* In the guest: the vsock port PUBLISH_PORT_FIRST + P stands for the published TCP port P. */
#define PUBLISH_PORT_FIRST 65536u

/* In the guest: the directory of what the host shares for containers, in machines that have any. */
#define CONTAINERS_MOUNTPOINT "/run/microagent-containers"

/* The beginning of each line that init writes on the serial console. */
#define INIT_LINE_PREFIX "microagent-init: "
/* The last line of init in a machine that is switched off by a reset: its file systems are on the
 * disk. */
#define ORDERLY_END_LINE "the machine ends in order"

/* An envelope that asks for nothing: any agent answers it with one line, a refusal. */
#define AGENT_PING "{\"op\":\"ping\",\"payload\":{}}\n"

enum agent_frame { AGENT_FRAME_STDIN = 1, AGENT_FRAME_STDOUT = 2, AGENT_FRAME_STDERR = 3 };
/* The length of what stands before the raw bytes in a frame's payload. */
#define AGENT_DATA_HEADER 9
/* The same length with the header of the frame added. */
#define AGENT_DATA_FRONT (FRAME_HEADER + AGENT_DATA_HEADER)

/* Writes what stands before len raw bytes; len is at most FRAME_MAX - AGENT_DATA_HEADER. */
static inline void agent_data_front(uint8_t front[AGENT_DATA_FRONT], enum agent_frame type,
				    uint64_t request, size_t len)
{
	be32_put(front, (uint32_t)(AGENT_DATA_HEADER + len));
	front[FRAME_HEADER] = (uint8_t)type;
	be64_put(front + FRAME_HEADER + 1, request);
}

#endif
