/* SPDX-License-Identifier: MIT */
/* The envelope form. Each line is a request. Requests are handled one after the other, since
 * answers carry no id. While a terminal is open, the client's lines are events for the terminal. */
#ifndef GUEST_ENVELOPES_H
#define GUEST_ENVELOPES_H

#include "guest/agent/conn.h"

extern const struct conn_form envelopes_form;

#endif
