/* SPDX-License-Identifier: MIT */
/* The client of control.sock, the socket of a live supervisor. */
#ifndef CHANNEL_CONTROL_H
#define CHANNEL_CONTROL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

#define CONTROL_SOCK_NAME "control.sock"

/* Sends a request to the workspace's live supervisor and waits for the answer. If the answer has
 * "ok": true, *answer (may be NULL) becomes a new reference to the answer; else the call fails with
 * the supervisor's error. ERR_NOT_FOUND or ERR_UNAVAILABLE if there is no supervisor; ERR_TIMEOUT
 * if the supervisor does not answer before the deadline. */
int control_ask(int workspace_fd, const json_t *request, uint64_t deadline_ns, json_t **answer,
		struct error *err);
/* Asks like control_ask(), for a request that may take long. Fails with ERR_UNAVAILABLE when the
 * descriptor `cancel` becomes readable (-1: no descriptor). */
int control_ask_or_cancel(int workspace_fd, const json_t *request, uint64_t deadline_ns, int cancel,
			  json_t **answer, struct error *err);
/* Asks like control_ask(), and sends the descriptor `pass` together with the request. If `pass` is
 * -1, no descriptor is sent. The caller keeps the descriptor. */
int control_ask_passing(int workspace_fd, const json_t *request, int pass, uint64_t deadline_ns,
			json_t **answer, struct error *err);
/* Asks like control_ask(), but does not close the connection, which becomes a lifeline
 * (lifeline.h). Returns the descriptor of the connection. */
int control_hold(int workspace_fd, const json_t *request, uint64_t deadline_ns, struct error *err);

#endif
