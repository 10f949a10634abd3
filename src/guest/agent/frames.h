/* SPDX-License-Identifier: MIT */
/* The frame form: requests and events in JSON frames, any number of requests at a time, and stdin
 * and output in binary frames (base/agent_wire.h). */
#ifndef GUEST_FRAMES_H
#define GUEST_FRAMES_H

#include "guest/agent/conn.h"

extern const struct conn_form frames_form;

#endif
