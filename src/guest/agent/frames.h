/* SPDX-License-Identifier: MIT */
/* The frame form. Requests and events are JSON frames, and any number of requests may run at a
 * time. Stdin and output are binary frames (base/agent_wire.h). */
#ifndef GUEST_FRAMES_H
#define GUEST_FRAMES_H

#include "guest/agent/conn.h"

extern const struct conn_form frames_form;

#endif
