/* SPDX-License-Identifier: MIT */
/*
 * Serves control.sock, which takes requests to a live supervisor. Each connection has one request
 * and one answer, and each of them is a JSON object in one line. The server runs in the live
 * supervisor's loop. The client is a command of a supervisor.
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
#define CONTROL_SOCK_CLIENTS 8 /* the most clients at a time; further clients wait */

struct control_sock;

struct control_client; /* one request that waits for its answer */

/* Handles a request and returns the answer, which the server releases. If it returns NULL, the
 * connection is closed without an answer, unless the function has deferred the answer. */
typedef json_t *control_sock_fn(void *data, const json_t *request, struct control_client *client);

/* Makes the server. Takes over `listen_fd`, also if it fails. */
struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err);
void control_sock_free(struct control_sock *server); /* accepts NULL; not in the callback */

/* Defers the answer to a request that takes long. Afterwards control_sock_answer() must be called
 * once for the client, or the server must be freed. Until then the client counts in
 * CONTROL_SOCK_CLIENTS. */
void control_sock_defer(struct control_client *client);
/* Sends the deferred answer and closes the connection. `client` is not valid any more
 * afterwards. */
void control_sock_answer(struct control_client *client, const json_t *answer);
/* Returns the descriptor that came with the request; -1: none. The caller closes it. */
int control_sock_passed(struct control_client *client);
/* Keeps the connection open after the answer, as the client's lifeline. `fn` is called once, when
 * the client has sent a byte (`let_go` is true), or when the connection has ended because the
 * client closed it or died (`let_go` is false). The connection is closed before this call. */
typedef void control_sock_gone_fn(void *data, bool let_go);
void control_sock_keep(struct control_client *client, control_sock_gone_fn *fn, void *data);
/* Returns the answer {"ok":false,"error","errorCode"}, which the caller releases; NULL if there is
 * no memory. */
json_t *control_sock_refusal(const struct error *error);

/* control_power.c */

/* Returns a request with this command, and with the requestID and the role of the caller. The
 * events that the request causes have the same requestID and role (live_asked_by()). The caller
 * releases the request. */
json_t *control_sock_request(const char *command, const struct identity *identity,
			     struct error *err);
/* Asks the live supervisor to end its VM (control_ask()). `identity` is the caller's. If `keep` is
 * true, a machine that is in quarantine, or for which a quarantine is under way, is not ended: the
 * function then fails with ERR_CONFLICT, and the reason of a quarantine. */
int control_sock_power(int workspace_fd, const char *action, const struct identity *identity,
		       bool keep, uint64_t deadline_ns, struct error *err);

#endif
