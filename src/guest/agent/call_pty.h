/* SPDX-License-Identifier: MIT */
/* Opens a terminal of the envelope form. The terminal's output becomes events for the client, and
 * the client's events go to the terminal. */
#ifndef GUEST_CALL_PTY_H
#define GUEST_CALL_PTY_H

#include "guest/agent/call.h"
#include "guest/agent/pty_event.h"

int call_pty(struct conn *conn, struct request *request, struct error *err);
/* Returns the call of the terminal that is open on the connection, or NULL if none is open. */
struct call *call_pty_open(const struct conn *conn);
/* Handles an event that the client has sent for the terminal. Frees the event's contents. */
void call_pty_event(struct call *call, struct pty_event *event);

#endif
