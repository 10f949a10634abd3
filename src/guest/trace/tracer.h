/* SPDX-License-Identifier: MIT */
/*
 * The process that watches the guest for the host. It gets the records of the kernel's audit, and
 * an event for each written file that is closed, and sends messages for the control stream to the
 * agent. It is a separate process, so that the agent does not have to wait: neither because of very
 * many events, nor because fanotify opens a file of a share whose server does not answer.
 */
#ifndef GUEST_TRACER_H
#define GUEST_TRACER_H

/* Runs the tracer. `out` is a SOCK_SEQPACKET socket to the agent, with one message in each packet:
 * first a telemetry-status, then telemetry. Closes all other descriptors. When the agent shuts its
 * end of the socket down, sends the last records and returns. */
void tracer_run(int out);

#endif
