/* SPDX-License-Identifier: MIT */
/*
 * Readiness as the live supervisor observes it. guestReady is determined by an event of the guest.
 * shellReady is determined by a probe: a request to the agent. mediationReady is determined by
 * another probe: a connection to the mediation target. A probe is made only when a client asks, and
 * at most once in LIMIT_PROBE_KEPT_MS, however many clients ask. During this time all clients get
 * the same result. But a failed request to the agent is made again for the next client.
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
/* Ends a probe of the mediation target that is running, with the result that the target is not
 * ready. Called before the mediation target is freed. */
void readiness_sever(struct readiness *readiness);
/* Drops all clients without an answer, and cancels the running probes. */
void readiness_forget(struct readiness *readiness); /* accepts NULL */
void readiness_free(struct readiness *readiness);   /* accepts NULL */

#endif
