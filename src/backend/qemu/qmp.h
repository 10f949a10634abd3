/* SPDX-License-Identifier: MIT */
/*
 * A client of the QEMU machine protocol on a connected socket, driven by the loop. QEMU is treated
 * as hostile, since a guest may have escaped into it. Lines, their number per wake-up and what is
 * kept of them are bounded. A breach of the protocol ends the connection, and nothing else.
 */
#ifndef BACKEND_QEMU_QMP_H
#define BACKEND_QEMU_QMP_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct qmp;

struct qmp_events {
	/* Capabilities are negotiated. Commands that were sent before go out now. */
	void (*ready)(void *data);
	/* An event; body is an object or NULL, borrowed. */
	void (*event)(void *data, const char *name, const json_t *body);
	/* The connection has ended and nothing more will come. why is NULL if QEMU closed the
	 * connection. Called once, after all outstanding replies (each with an error). */
	void (*closed)(void *data, const struct error *why);
	void *data;
};

/* Called with the answer to one command: result (borrowed), or why (ERR_TIMEOUT, ERR_IO), never
 * both. */
typedef void qmp_reply_fn(void *data, const json_t *result, const struct error *why);

/* Makes a client. Takes over fd, also if it fails. The greeting must come within
 * LIMIT_QMP_GREETING_MS. */
struct qmp *qmp_new(struct loop *loop, int fd, const struct qmp_events *events, struct error *err);
/*
 * Sends a command, or keeps it until the connection is ready. Takes over arguments (an object or
 * NULL), also if it fails. reply may be NULL. Otherwise it is called exactly once, from the loop,
 * within LIMIT_QMP_MS, or never if qmp_free() comes first. ERR_UNAVAILABLE: the connection has
 * ended, or too many commands are outstanding.
 */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, qmp_reply_fn *reply,
	     void *data, struct error *err);
/* Sends a command with a descriptor; QEMU gets a copy of it (getfd). ERR_UNAVAILABLE: the
 * connection is not ready yet, or QEMU has not read what was sent before. */
int qmp_send_fd(struct qmp *qmp, const char *command, json_t *arguments, int fd,
		qmp_reply_fn *reply, void *data, struct error *err);
/* Reads the rest of the socket, as the loop would. For the time after QEMU's end. */
void qmp_drain(struct qmp *qmp);
/* Closes the connection and frees the client. Accepts NULL. May be called from any callback. */
void qmp_free(struct qmp *qmp);

#endif
