/* SPDX-License-Identifier: MIT */
/* The client of control.sock, the socket of a live supervisor. */
#ifndef CHANNEL_CONTROL_H
#define CHANNEL_CONTROL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

#define CONTROL_SOCK_NAME "control.sock"

/* Sends a request to the workspace's live supervisor and waits for the answer. If it is yes,
 * *answer (may be NULL) becomes a new reference to it; if it is no, err is the supervisor's error.
 * ERR_NOT_FOUND or ERR_UNAVAILABLE if there is no supervisor; ERR_TIMEOUT if it does not answer. */
int control_ask(int workspace_fd, const json_t *request, uint64_t deadline_ns, json_t **answer,
		struct error *err);
/* Does the same for a request that takes long: stops waiting with ERR_UNAVAILABLE once cancel is
 * readable (-1: never). */
int control_ask_or_cancel(int workspace_fd, const json_t *request, uint64_t deadline_ns, int cancel,
			  json_t **answer, struct error *err);
/* Does the same and sends a descriptor with the request; -1: none. The caller keeps the
 * descriptor. */
int control_ask_passing(int workspace_fd, const json_t *request, int pass, uint64_t deadline_ns,
			json_t **answer, struct error *err);
/* Does the same, but keeps the connection as a lifeline (lifeline.h), and returns it. */
int control_hold(int workspace_fd, const json_t *request, uint64_t deadline_ns, struct error *err);

#endif
