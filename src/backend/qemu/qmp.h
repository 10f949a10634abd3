/* SPDX-License-Identifier: MIT */
/*
 * A client of the QEMU machine protocol (QMP) on a connected socket, driven by the loop. QEMU is
 * not trusted, since a guest may have escaped into it. There are bounds on the length of a line,
 * the number of lines in one round of the loop, and the bytes that are kept. A breach of the
 * protocol ends only the connection.
 */
#ifndef BACKEND_QEMU_QMP_H
#define BACKEND_QEMU_QMP_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct qmp;

struct qmp_events {
	/* Called when the capabilities are negotiated. Commands that qmp_send() has kept are sent
	 * now. */
	void (*ready)(void *data);
	/* Called for an event. `body` is an object, which is valid during the call, or NULL. */
	void (*event)(void *data, const char *name, const json_t *body);
	/* Called once, when the connection has ended. Before this each command without an answer
	 * has got an error as its answer. `why` is NULL if QEMU has closed the connection. */
	void (*closed)(void *data, const struct error *why);
	void *data;
};

/* Called with the answer to one command. If the command has succeeded, `result` is set, which is
 * valid during this function, and `why` is NULL. Otherwise `why` is set (ERR_TIMEOUT, ERR_IO), and
 * `result` is NULL. */
typedef void qmp_reply_fn(void *data, const json_t *result, const struct error *why);

/* Makes a client. Takes over `fd`, also if it fails. The greeting must come within
 * LIMIT_QMP_GREETING_MS. */
struct qmp *qmp_new(struct loop *loop, int fd, const struct qmp_events *events, struct error *err);
/*
 * Sends a command, or keeps it until the connection is ready. Takes over `arguments` (an object or
 * NULL), also if it fails. `reply` may be NULL. If not, it is called exactly once, from the loop,
 * within LIMIT_QMP_MS; it is never called if qmp_free() is called before. ERR_UNAVAILABLE: the
 * connection has ended, or too many commands have no answer yet.
 */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, qmp_reply_fn *reply,
	     void *data, struct error *err);
/* Sends a command with a descriptor, of which QEMU gets a copy (getfd). ERR_UNAVAILABLE: the
 * connection is not ready yet, or QEMU has not read the earlier commands. */
int qmp_send_fd(struct qmp *qmp, const char *command, json_t *arguments, int fd,
		qmp_reply_fn *reply, void *data, struct error *err);
/* Reads and handles everything that is left in the socket. Called when QEMU has ended. */
void qmp_drain(struct qmp *qmp);
/* Closes the connection and frees the client. Accepts NULL. May be called from any callback. */
void qmp_free(struct qmp *qmp);

#endif
