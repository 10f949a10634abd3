/* SPDX-License-Identifier: MIT */
/*
 * The process that watches the guest for the host. It gets the records of the kernel's audit, and
 * an event for each written file that is closed. It sends messages for the control stream to the
 * agent.
 *
 * The tracer is a separate process, so that the agent does not have to wait. Very many events would
 * delay the agent. Also, fanotify opens files, which blocks if the file is on a share whose server
 * does not answer.
 */
#ifndef GUEST_TRACER_H
#define GUEST_TRACER_H

/* Runs the tracer. `out` is a SOCK_SEQPACKET socket to the agent, with one message in each packet.
 * The first message is a telemetry-status, and telemetry messages come after it. Closes all other
 * descriptors. When the agent shuts down its end of the socket, sends the last records and
 * returns. */
void tracer_run(int out);

#endif
