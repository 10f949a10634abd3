/* SPDX-License-Identifier: MIT */
/*
 * A client of the QEMU machine protocol (QMP) on a connected socket, driven by the loop. QEMU is
 * not trusted, since a guest may have escaped into it. So the length of a line, the number of lines
 * in one round of the loop, and the bytes that wait to be handled are limited. A breach of the
 * protocol ends only the connection.
 */
#ifndef BACKEND_QEMU_QMP_H
#define BACKEND_QEMU_QMP_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct qmp;

struct qmp_events {
	/* Called when the connection is ready. Before that, the commands that qmp_send() has kept
	 * are sent. */
	void (*ready)(void *data);
	/* Called for an event. `body` is an object that is valid during the call, or NULL. */
	void (*event)(void *data, const char *name, const json_t *body);
	/* Called once, when the connection has ended. Before that, each command without an answer
	 * gets an error. `why` is NULL if QEMU has closed the connection. */
	void (*closed)(void *data, const struct error *why);
	void *data;
};

/* Called with the answer to one command. If the command has succeeded, `result` is set and valid
 * during the call, and `why` is NULL. Otherwise `result` is NULL, and `why` is set (ERR_TIMEOUT if
 * there was no answer in time, ERR_IO otherwise). */
typedef void qmp_reply_fn(void *data, const json_t *result, const struct error *why);

/* Makes a client. Takes over `fd`, even on failure. QEMU's greeting must come within
 * LIMIT_QMP_GREETING_MS. */
struct qmp *qmp_new(struct loop *loop, int fd, const struct qmp_events *events, struct error *err);
/*
 * Sends a command, or keeps it until the connection is ready. Takes over `arguments` (an object or
 * NULL), even on failure. `reply` may be NULL. Otherwise it is called exactly once, from the loop,
 * within LIMIT_QMP_MS, unless qmp_free() is called before. Fails with ERR_UNAVAILABLE if the
 * connection has ended, or if too many commands have no answer yet.
 */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, qmp_reply_fn *reply,
	     void *data, struct error *err);
/* Sends a command with a descriptor, of which QEMU gets a copy (getfd). Fails with ERR_UNAVAILABLE
 * if the connection is not ready yet, or if QEMU has not read the earlier commands. */
int qmp_send_fd(struct qmp *qmp, const char *command, json_t *arguments, int fd,
		qmp_reply_fn *reply, void *data, struct error *err);
/* Reads and handles all messages that are still in the socket. Called when QEMU has ended. */
void qmp_drain(struct qmp *qmp);
/* Closes the connection and frees the client. Accepts NULL. May be called from any callback. */
void qmp_free(struct qmp *qmp);

#endif
