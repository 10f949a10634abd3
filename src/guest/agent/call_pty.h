/* SPDX-License-Identifier: MIT */
/* A terminal of the envelope form's: its output as events, the client's events to it. */
#ifndef GUEST_CALL_PTY_H
#define GUEST_CALL_PTY_H

#include "guest/agent/call.h"
#include "guest/agent/pty_event.h"

int call_pty(struct conn *conn, struct request *request, struct error *err);
/* The one that is open on the connection, or NULL. */
struct call *call_pty_open(const struct conn *conn);
/* An event from the client for it; takes what is in it. */
void call_pty_event(struct call *call, struct pty_event *event);

#endif
