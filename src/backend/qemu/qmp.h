/* SPDX-License-Identifier: MIT */
/*
 * A client of the QEMU machine protocol on a connected socket, driven by the loop. QEMU is taken
 * to be hostile (a guest may have escaped into it): lines, their number per wake-up and what is
 * kept of them are bounded, and a breach of the protocol ends the connection, nothing else.
 */
#ifndef BACKEND_QEMU_QMP_H
#define BACKEND_QEMU_QMP_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct qmp;

struct qmp_events {
	/* Capabilities are negotiated; commands sent before go out now. */
	void (*ready)(void *data);
	/* An event; body is an object or NULL, borrowed. */
	void (*event)(void *data, const char *name, const json_t *body);
	/* The connection has ended and nothing more will come; why is NULL when QEMU closed it.
	 * Called once, outstanding replies (each with an error) before it. */
	void (*closed)(void *data, const struct error *why);
	void *data;
};

/* The answer to one command: result (borrowed) or why (ERR_TIMEOUT, ERR_IO), never both. */
typedef void qmp_reply_fn(void *data, const json_t *result, const struct error *why);

/* Takes fd, also on failure. The greeting must come within LIMIT_QMP_GREETING_MS. */
struct qmp *qmp_new(struct loop *loop, int fd, const struct qmp_events *events, struct error *err);
/*
 * Sends a command, or keeps it until the connection is ready. arguments (an object or NULL) is
 * stolen, also on failure. reply may be NULL; otherwise it is called exactly once, from the loop,
 * within LIMIT_QMP_MS, or never if qmp_free() comes first. ERR_UNAVAILABLE when the connection has
 * ended or too many commands are outstanding.
 */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments, qmp_reply_fn *reply,
	     void *data, struct error *err);
/* The same with a descriptor, of which QEMU gets a copy (getfd). ERR_UNAVAILABLE before the
 * connection is ready, and while QEMU has not read what was sent before. */
int qmp_send_fd(struct qmp *qmp, const char *command, json_t *arguments, int fd,
		qmp_reply_fn *reply, void *data, struct error *err);
/* Reads what is left in the socket, as the loop would; for the time after QEMU's end. */
void qmp_drain(struct qmp *qmp);
/* Closes. Accepts NULL. May be called from any of the callbacks. */
void qmp_free(struct qmp *qmp);

#endif
