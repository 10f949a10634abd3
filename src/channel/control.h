/* SPDX-License-Identifier: MIT */
/* The client of control.sock: who wants something of a live supervisor. */
#ifndef CHANNEL_CONTROL_H
#define CHANNEL_CONTROL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

#define CONTROL_SOCK_NAME "control.sock"

/* Sends a request to the workspace's live supervisor and waits for its yes, of which *answer (may
 * be NULL) becomes a new reference; a no is its error. ERR_NOT_FOUND or ERR_UNAVAILABLE: nobody is
 * there; ERR_TIMEOUT: it does not answer. */
int control_ask(int workspace_fd, const json_t *request, uint64_t deadline_ns, json_t **answer,
		struct error *err);
/* The same for what takes long: once cancel is readable nobody waits any more, ERR_UNAVAILABLE. -1:
 * never. */
int control_ask_or_cancel(int workspace_fd, const json_t *request, uint64_t deadline_ns, int cancel,
			  json_t **answer, struct error *err);
/* The same with a descriptor that the request is about; -1: none. It stays the caller's. */
int control_ask_passing(int workspace_fd, const json_t *request, int pass, uint64_t deadline_ns,
			json_t **answer, struct error *err);
/* The same, and the connection stays, as a lifeline (lifeline.h). It is returned. */
int control_hold(int workspace_fd, const json_t *request, uint64_t deadline_ns, struct error *err);

#endif
