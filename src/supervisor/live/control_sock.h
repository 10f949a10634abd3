/* SPDX-License-Identifier: MIT */
/*
 * control.sock: requests to a live supervisor, one JSON object and one answer per connection, each
 * a line. The server lives in its loop; the client is a supervisor command.
 */
#ifndef SUPERVISOR_CONTROL_SOCK_H
#define SUPERVISOR_CONTROL_SOCK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "channel/control.h"
#include "contract/request.h"

#define CONTROL_SOCK_NAME "control.sock"
#define CONTROL_SOCK_CLIENTS 8 /* at once; the next ones wait */

struct control_sock;

struct control_client; /* one request that waits for its answer */

/* Acts on a request and returns the answer, a new reference; NULL closes without one, unless the
 * function has deferred the answer. */
typedef json_t *control_sock_fn(void *data, const json_t *request, struct control_client *client);

/* listen_fd becomes the server's own, also on failure. */
struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err);
void control_sock_free(struct control_sock *server); /* accepts NULL; not in the callback */

/* For what takes its time. The client is then answered once, or dropped with the server; it keeps
 * one of few places until then. */
void control_sock_defer(struct control_client *client);
void control_sock_answer(struct control_client *client, const json_t *answer);
/* The descriptor that came with the request, the caller's from now on; -1: none. */
int control_sock_passed(struct control_client *client);
/* The connection stays behind the answer, as the client's lifeline: fn is called when the client
 * cuts it or dies, or has let it go, and the connection is closed then. */
typedef void control_sock_gone_fn(void *data, bool let_go);
void control_sock_keep(struct control_client *client, control_sock_gone_fn *fn, void *data);
/* {"ok":false,"error","errorCode"}, new; NULL without memory. */
json_t *control_sock_refusal(const struct error *error);

/* control_power.c */

/* A request of that command, new, with the requestID and the role of the caller. The events of what
 * follows carry both (live_asked_by()). */
json_t *control_sock_request(const char *command, const struct identity *identity,
			     struct error *err);
/* Asks the live supervisor for the end of its VM, by control_ask(). identity: of the caller. keep: a
 * machine that is in quarantine, or on the way there, is not to be ended: ERR_CONFLICT with the
 * reason of a quarantine. */
int control_sock_power(int workspace_fd, const char *action, const struct identity *identity,
		       bool keep, uint64_t deadline_ns, struct error *err);

#endif
