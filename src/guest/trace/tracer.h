/* SPDX-License-Identifier: MIT */
/*
 * The process that watches the guest for the host: the kernel's audit and the closing of written
 * files come in, messages for the control stream go out to the agent. It is the agent's child, so
 * that neither a flood of events nor a share without a server, whose file fanotify would open,
 * holds the agent up.
 */
#ifndef GUEST_TRACER_H
#define GUEST_TRACER_H

/* out: a SOCK_SEQPACKET socket to the agent, one message each: first a telemetry-status, then
 * telemetry. Runs until the agent sends no more, tells what is left, and returns. Closes all other
 * descriptors. */
void tracer_run(int out);

#endif
