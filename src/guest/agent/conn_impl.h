/* SPDX-License-Identifier: MIT */
/* What conn.c (both forms' frame) and conn_envelope.c share. */
#ifndef GUEST_CONN_IMPL_H
#define GUEST_CONN_IMPL_H

#include "guest/agent/conn.h"

/* There is a request: the connection is not idle. */
void conn_asked(struct conn *conn);
/* Ends the connection's commands, says text (taken over; NULL: no memory), and closes when that has
 * been sent. */
void conn_refuse(struct conn *conn, char *text);

/* conn_envelope.c. true: there may be more to do. */
bool conn_step_envelope(struct conn *conn);
/* Whether another line can be worked on now. */
bool conn_takes_envelopes(const struct conn *conn);

#endif
