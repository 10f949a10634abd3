/* SPDX-License-Identifier: MIT */
/*
 * The process that watches the guest for the host. It gets the kernel's audit and the closing of
 * written files, and sends messages for the control stream to the agent. It is a child of the
 * agent, so that neither a flood of events nor a share without a server, whose file fanotify would
 * open, holds up the agent.
 */
#ifndef GUEST_TRACER_H
#define GUEST_TRACER_H

/* Runs the tracer. out is a SOCK_SEQPACKET socket to the agent, with one message in each packet:
 * first a telemetry-status, then telemetry. Runs until the agent sends no more, tells what is left,
 * and returns. Closes all other descriptors. */
void tracer_run(int out);

#endif
