/* SPDX-License-Identifier: MIT */
/*
 * Serves control.sock, the socket by which commands send requests to a live supervisor. Each
 * connection carries one request and one answer. Each of these is a JSON object in one line. The
 * server runs in the live supervisor's loop. The client is a command of a supervisor.
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
#define CONTROL_SOCK_CLIENTS 8 /* the greatest number of clients at a time; others wait */

struct control_sock;

struct control_client; /* a client with one request, which waits for its answer */

/* Handles a request and returns the answer, which the server releases. If the function returns
 * NULL, the connection is closed without an answer, unless the function has deferred the answer. */
typedef json_t *control_sock_fn(void *data, const json_t *request, struct control_client *client);

/* Makes the server. The server closes `listen_fd`, even if the function fails. */
struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err);
/* Frees the server. Accepts NULL. Must not be called in `fn`. */
void control_sock_free(struct control_sock *server);

/* Defers the answer to a request that takes long. Afterwards control_sock_answer() must be called
 * once for the client, or the server must be freed. Until the answer is sent, the client counts in
 * CONTROL_SOCK_CLIENTS. */
void control_sock_defer(struct control_client *client);
/* Sends the deferred answer and closes the connection. Afterwards `client` is not valid any
 * more. */
void control_sock_answer(struct control_client *client, const json_t *answer);
/* Returns the descriptor that was passed with the request, which the caller closes; -1: no
 * descriptor was passed. */
int control_sock_passed(struct control_client *client);
/* Keeps the connection open after the answer, as the client's lifeline. `fn` is called once.
 * `let_go` is true if the client has sent a byte, by which it gives up the lifeline. `let_go` is
 * false if the connection has ended without such a byte. The connection is closed before this
 * call. */
typedef void control_sock_gone_fn(void *data, bool let_go);
void control_sock_keep(struct control_client *client, control_sock_gone_fn *fn, void *data);
/* Returns the answer to a refused request, {"ok":false,"error","errorCode"}. The caller releases
 * the answer. Returns NULL if there is no memory. */
json_t *control_sock_refusal(const struct error *error);

/* --- control_power.c ------------------------------------------------------------------------- */

/* Returns a request with the command `command`, and with the requestID and the role of the caller.
 * These two are recorded in the events that the request causes (live_asked_by()). The caller
 * releases the request. */
json_t *control_sock_request(const char *command, const struct identity *identity,
			     struct error *err);
/* Asks the live supervisor to end its machine (control_ask()). `identity` is that of the caller. If
 * `keep` is true, and the machine is in quarantine or is being put into quarantine, does not end it
 * but fails with ERR_CONFLICT and the reason code of a quarantine. */
int control_sock_power(int workspace_fd, const char *action, const struct identity *identity,
		       bool keep, uint64_t deadline_ns, struct error *err);

#endif
