/* SPDX-License-Identifier: MIT */
/*
 * control.sock: requests to a live supervisor, one JSON object and one answer per connection, each
 * a line. The server lives in its loop; the client is a supervisor command.
 */
#ifndef SUPERVISOR_CONTROL_SOCK_H
#define SUPERVISOR_CONTROL_SOCK_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

#define CONTROL_SOCK_NAME "control.sock"

struct control_sock;

/* Acts on a request and returns the answer, a new reference; NULL closes without one. */
typedef json_t *control_sock_fn(void *data, const json_t *request);

/* listen_fd becomes the server's own, also on failure. */
struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err);
void control_sock_free(struct control_sock *server); /* accepts NULL; not in the callback */

/* Sends {"command":"power","action":action} to the workspace's live supervisor and waits for its
 * yes. ERR_NOT_FOUND or ERR_UNAVAILABLE: nobody is there; ERR_TIMEOUT: it does not answer. */
int control_sock_power(int workspace_fd, const char *action, uint64_t deadline_ns,
		       struct error *err);

#endif
