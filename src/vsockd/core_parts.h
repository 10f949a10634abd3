/* SPDX-License-Identifier: MIT */
/*
 * What the files of the core share among themselves. core.c and core_output.c are one unit in two
 * files: settling a stream asks what is due to the guest, and sending what is due settles it again.
 */
#ifndef VSOCKD_CORE_PARTS_H
#define VSOCKD_CORE_PARTS_H

#include "vsockd/core.h"

/* --- core.c ---------------------------------------------------------------------------------- */

/* Remembers an RST to be sent. */
void core_refuse(struct core *core, const struct refusal *refusal);
/* Ends the stream at once for both sides; the guest gets an RST if it knows it. */
void core_abort(struct core *core, struct stream *s);
/* The guest is through with the stream: its ports are free, and what it sent is still delivered. */
void core_guest_ended(struct core *core, struct stream *s);
/* To be called when anything about a stream has changed: closes what is over, queues what has
 * something for the guest. The stream may be released. */
void core_settle(struct core *core, struct stream *s);
union poll_ref core_ref(const struct core *core, const struct stream *s);

/* --- core_host.c ----------------------------------------------------------------------------- */

/* Gives payload to the host's socket; what it does not take is kept (there is room: credit). */
void host_send(struct core *core, struct stream *s, struct span *payload);
/* Gives the socket what is kept, and the end of the guest's bytes once nothing is. */
void host_flush(struct core *core, struct stream *s);
/* A socket connected to the port's, or -1. */
int host_dial(struct core *core, const struct host_port *port);
/* Watches a new stream's descriptor. */
int host_watch(struct core *core, struct stream *s);
/* "OK <port>\n" to the client. */
void host_answer(struct core *core, struct stream *s);

/* --- core_output.c --------------------------------------------------------------------------- */

/* Bytes that the guest has room for. */
uint32_t output_credit(const struct stream *s);
/* Whether the stream has something for the guest. */
bool output_due(const struct stream *s);

#endif
