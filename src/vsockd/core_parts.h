/* SPDX-License-Identifier: MIT */
/*
 * The functions of the core that several of its files use. core.c and core_output.c need each
 * other. core_settle() calls output_due() to learn whether a stream has something for the guest.
 * core_output() calls core_settle() for each stream after its turn.
 */
#ifndef VSOCKD_CORE_PARTS_H
#define VSOCKD_CORE_PARTS_H

#include "vsockd/core.h"

/* --- core.c ---------------------------------------------------------------------------------- */

/* Stores an RST. core_output() sends it to the guest later. */
void core_refuse(struct core *core, const struct refusal *refusal);
/* Ends and releases the stream at once. If the guest knows the stream, the guest gets an RST. */
void core_abort(struct core *core, struct stream *s);
/* Ends the guest's side of the stream. The stream's ports become free. If the host's reader has not
 * yet taken all bytes of the guest, the stream is kept until these bytes are delivered; else the
 * stream is released. */
void core_guest_ended(struct core *core, struct stream *s);
/* If both directions are over, closes the host's side of the stream. If the stream has something
 * for the guest, queues the stream. Must be called after every change of a stream. May release the
 * stream. */
void core_settle(struct core *core, struct stream *s);
union poll_ref core_ref(const struct core *core, const struct stream *s);

/* --- core_host.c ----------------------------------------------------------------------------- */

/* Writes `payload` to the host's socket. Bytes that the socket does not take are kept in the
 * stream's buffer. The caller has checked that `payload` is not longer than the guest's credit, so
 * the buffer has room. */
void host_send(struct core *core, struct stream *s, struct span *payload);
/* Writes the kept bytes to the host's socket. When all bytes were written, and the guest has said
 * that it sends no more, shuts the socket down for writing. */
void host_flush(struct core *core, struct stream *s);
/* Connects to the port's socket. Returns a new non-blocking descriptor. Returns -1 if the
 * connection fails; the reason is then in the log. */
int host_dial(struct core *core, const struct host_port *port);
/* Begins to watch the descriptor of a new stream. Returns 0, or -1 with errno. */
int host_watch(struct core *core, struct stream *s);
/* Sends "OK <port>\n" to the client. */
void host_answer(struct core *core, struct stream *s);

/* --- core_output.c --------------------------------------------------------------------------- */

/* Returns for how many more bytes the guest has room, by the counts that the guest has sent. */
uint32_t output_credit(const struct stream *s);
/* Returns true if the stream has something for the guest. */
bool output_due(const struct stream *s);

#endif
