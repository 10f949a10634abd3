/* SPDX-License-Identifier: MIT */
/*
 * Serves control.sock, which takes requests to a live supervisor. Each connection has one request
 * and one answer. Both are a JSON object in one line. The server runs in the live supervisor's
 * loop; the client is a supervisor command.
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
#define CONTROL_SOCK_CLIENTS 8 /* clients at once; further ones wait */

struct control_sock;

struct control_client; /* one request that waits for its answer */

/* Handles a request and returns the answer, a new reference. NULL: the connection is closed without
 * an answer, unless the function has deferred the answer. */
typedef json_t *control_sock_fn(void *data, const json_t *request, struct control_client *client);

/* Makes the server. Takes over listen_fd, also if it fails. */
struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err);
void control_sock_free(struct control_sock *server); /* accepts NULL; not in the callback */

/* Defers the answer to a request that takes long. The client is then answered once, or dropped with
 * the server. Until then it keeps one of the few places. */
void control_sock_defer(struct control_client *client);
void control_sock_answer(struct control_client *client, const json_t *answer);
/* Returns the descriptor that came with the request; -1: none. The caller closes it. */
int control_sock_passed(struct control_client *client);
/* Keeps the connection open after the answer, as the client's lifeline. fn is called when the
 * client closes it or dies, or has let it go. The connection is closed then. */
typedef void control_sock_gone_fn(void *data, bool let_go);
void control_sock_keep(struct control_client *client, control_sock_gone_fn *fn, void *data);
/* Returns a new {"ok":false,"error","errorCode"}; NULL if there is no memory. */
json_t *control_sock_refusal(const struct error *error);

/* control_power.c */

/* Returns a new request of this command, with the requestID and the role of the caller. The events
 * that follow from the request carry both (live_asked_by()). */
json_t *control_sock_request(const char *command, const struct identity *identity,
			     struct error *err);
/* Asks the live supervisor to end its VM, by control_ask(). identity: the caller's. keep: do not
 * end a machine that is in quarantine, or on the way there; then the result is ERR_CONFLICT with
 * the reason of a quarantine. */
int control_sock_power(int workspace_fd, const char *action, const struct identity *identity,
		       bool keep, uint64_t deadline_ns, struct error *err);

#endif
