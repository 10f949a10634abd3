/* SPDX-License-Identifier: MIT */
/*
 * Readiness as the live supervisor observes it: each signal by an event or by doing. What is done,
 * an agent round trip and a connection to the mediation target, is done only when somebody asks,
 * and at most once in LIMIT_PROBE_KEPT_MS however many ask: its outcome is answered again for that
 * long, but for a round trip that failed.
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
 * mediationReady?}}. ready_at: when the guest reported ready, or NULL; then the agent is not asked.
 * mediation: NULL leaves its signal out; it must not be freed before readiness_forget().
 */
int readiness_ask(struct readiness *readiness, const char *ready_at, struct target *mediation,
		  struct control_client *client, struct error *err);
/* The mediation target goes: what is being asked of it is answered as not ready. */
void readiness_sever(struct readiness *readiness);
/* No client is there any more, and probes that run are given up. */
void readiness_forget(struct readiness *readiness); /* accepts NULL */
void readiness_free(struct readiness *readiness);   /* accepts NULL */

#endif
