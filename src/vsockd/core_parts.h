/* SPDX-License-Identifier: MIT */
/*
 * The functions that the files of the core share. core.c and core_output.c are one unit in two
 * files: settling a stream asks what is due to the guest, and sending what is due settles the
 * stream again.
 */
#ifndef VSOCKD_CORE_PARTS_H
#define VSOCKD_CORE_PARTS_H

#include "vsockd/core.h"

/* --- core.c ---------------------------------------------------------------------------------- */

/* Stores an RST that is to be sent. */
void core_refuse(struct core *core, const struct refusal *refusal);
/* Ends the stream at once for both sides. If the guest knows the stream, it gets an RST. */
void core_abort(struct core *core, struct stream *s);
/* Ends the guest's side of the stream: its ports become free, and what the guest sent is still
 * delivered. */
void core_guest_ended(struct core *core, struct stream *s);
/* Must be called when anything about a stream has changed. Closes the stream if it is over, and
 * queues it if it has something for the guest. May release the stream. */
void core_settle(struct core *core, struct stream *s);
union poll_ref core_ref(const struct core *core, const struct stream *s);

/* --- core_host.c ----------------------------------------------------------------------------- */

/* Writes payload to the host's socket, and keeps what the socket does not take. The credit ensures
 * that there is room for that. */
void host_send(struct core *core, struct stream *s, struct span *payload);
/* Writes the kept bytes to the socket. When none is left, passes on the end of the guest's
 * bytes. */
void host_flush(struct core *core, struct stream *s);
/* Connects to the port's socket. Returns a new non-blocking descriptor; -1 on failure. */
int host_dial(struct core *core, const struct host_port *port);
/* Watches a new stream's descriptor. */
int host_watch(struct core *core, struct stream *s);
/* Sends "OK <port>\n" to the client. */
void host_answer(struct core *core, struct stream *s);

/* --- core_output.c --------------------------------------------------------------------------- */

/* Returns how many bytes the guest has room for. */
uint32_t output_credit(const struct stream *s);
/* Returns true if the stream has something for the guest. */
bool output_due(const struct stream *s);

#endif
