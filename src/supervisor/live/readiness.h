/* SPDX-License-Identifier: MIT */
/*
 * Readiness as the live supervisor observes it. guestReady is known by an event, shellReady and
 * mediationReady by probes: a request to the agent, and a connection to the mediation target. A
 * probe is made only when a client asks, and at most once in LIMIT_PROBE_KEPT_MS, however many
 * clients ask. Its result is the answer for this time. Only a request to the agent that failed is
 * made again for the next client.
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
 * Answers the client when everything is known: {"ok":true,"readiness":{guestReady, shellReady,
 * mediationReady?}}. `ready_at` is the time at which the guest reported ready; NULL: the guest has
 * not reported ready, and the agent is not asked. If `mediation` is NULL, the answer has no
 * mediationReady. `mediation` must not be freed before readiness_forget().
 */
int readiness_ask(struct readiness *readiness, const char *ready_at, struct target *mediation,
		  struct control_client *client, struct error *err);
/* Ends a probe of the mediation target that is under way, with the result that it is not ready.
 * Called before the mediation target is freed. */
void readiness_sever(struct readiness *readiness);
/* Forgets all clients and gives up the probes that run. */
void readiness_forget(struct readiness *readiness); /* accepts NULL */
void readiness_free(struct readiness *readiness);   /* accepts NULL */

#endif
