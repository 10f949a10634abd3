/* SPDX-License-Identifier: MIT */
/*
 * Readiness as the live supervisor observes it. guestReady is known by an event. shellReady and
 * mediationReady are known by probes: a request to the agent, and a connection to the mediation
 * target. A probe is made only when a client asks, and at most once in LIMIT_PROBE_KEPT_MS, however
 * many clients ask. During this time its result is the answer to all clients. If a request to the
 * agent has failed, it is made again for the next client.
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
 * Answers the client when all signals are known: {"ok":true,"readiness":{guestReady, shellReady,
 * mediationReady?}}. `ready_at` is the time at which the guest reported ready; NULL: the guest has
 * not reported ready, and the agent is not asked. If `mediation` is NULL, the answer has no
 * mediationReady. `mediation` must not be freed before readiness_forget().
 */
int readiness_ask(struct readiness *readiness, const char *ready_at, struct target *mediation,
		  struct control_client *client, struct error *err);
/* If a probe of the mediation target is under way, ends it with the result that the target is not
 * ready. Called before the mediation target is freed. */
void readiness_sever(struct readiness *readiness);
/* Forgets all clients, and gives up the probes that are under way. */
void readiness_forget(struct readiness *readiness); /* accepts NULL */
void readiness_free(struct readiness *readiness);   /* accepts NULL */

#endif
