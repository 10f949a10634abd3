/* SPDX-License-Identifier: MIT */
/*
 * Readiness as the live supervisor observes it. A signal is known by an event or by a probe. The
 * probes are an agent round trip and a connection to the mediation target. They are made only when
 * a client asks, and at most once in LIMIT_PROBE_KEPT_MS, however many clients ask. Their outcome
 * is the answer for that long, except for a round trip that failed.
 */
#ifndef SUPERVISOR_READINESS_H
#define SUPERVISOR_READINESS_H

#include <jansson.h>

#include "base/loop.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/target.h"

struct readiness;

struct readiness *readiness_new(struct loop *loop, int workspace_fd, struct error *err);
/*
 * Answers client when everything is known: {"ok":true,"readiness":{guestReady, shellReady,
 * mediationReady?}}. ready_at: when the guest reported ready; NULL: it has not, and the agent is
 * not asked. mediation: NULL leaves its signal out. It must not be freed before readiness_forget().
 */
int readiness_ask(struct readiness *readiness, const char *ready_at, struct target *mediation,
		  struct control_client *client, struct error *err);
/* Called when the mediation target goes. A probe of it that is under way is answered as not
 * ready. */
void readiness_sever(struct readiness *readiness);
/* Forgets all clients and gives up the probes that run. */
void readiness_forget(struct readiness *readiness); /* accepts NULL */
void readiness_free(struct readiness *readiness);   /* accepts NULL */

#endif
