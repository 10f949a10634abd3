/* SPDX-License-Identifier: MIT */
/*
 * The tracer, a process that reports to the host what the guest's programs do. The tracer gets the
 * records of the kernel's audit, and an event for each written file that is closed. The tracer
 * sends messages to the agent, which passes them on to the host.
 *
 * The tracer is a separate process, so that it cannot delay the agent. Very many events take much
 * time. Also, fanotify opens files, and an open blocks if the file is on a share whose server does
 * not answer.
 */
#ifndef GUEST_TRACER_H
#define GUEST_TRACER_H

/* Runs the tracer. `out` is a SOCK_SEQPACKET socket to the agent, with one message in each packet.
 * The first message is a telemetry-status, and telemetry messages follow. Closes all file
 * descriptors except `out`. When the agent shuts down its end of the socket, sends the last records
 * and returns. */
void tracer_run(int out);

#endif
