/* SPDX-License-Identifier: MIT */
/*
 * The messages of the guest control stream: JSON objects with a member "type". The functions of
 * this header decode the guest's messages, which are not trusted, and make the host's messages.
 * None of these functions sends or receives messages.
 */
#ifndef SUPERVISOR_CONTROL_MESSAGE_H
#define SUPERVISOR_CONTROL_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/error.h"
#include "base/port_set.h"
#include "contract/request.h"

#define CONTROL_PROTOCOL 1 /* the only version of the protocol that the host knows */

enum control_type {
	CONTROL_HELLO,
	CONTROL_READY,
	CONTROL_RESULT,
	CONTROL_EXEC_STARTED,
	CONTROL_EXEC_FINISHED,
	CONTROL_EXEC_LOST,
	CONTROL_TELEMETRY,
	CONTROL_MOUNTED,
	CONTROL_PUBLISHED,
	CONTROL_LISTENING,
	CONTROL_QUIESCED,
	CONTROL_SETTLED,
	CONTROL_TELEMETRY_STATUS,
	CONTROL_ENDING,
	/* A type that this host does not know, from a newer guest. The message is ignored. */
	CONTROL_UNKNOWN,
};

struct control_hello {
	const char *version; /* the version of the guest's software; the text belongs to the JSON
			      * message */
	const char *boot_id;
	int64_t generation;
	/* The guest was restored, and asks for a new identity of its machine. */
	bool restored;
	bool linked; /* the guest's agent can use the link (base/packet.h) in place of a vsock
		      * device */
};

/* The TCP ports that have a server in the guest, according to the guest. */
struct control_listening {
	bool told; /* false: the guest cannot report its ports, or has not reported them yet */
	struct port_set ports;
};

/* The greatest length, in bytes, of a message that a guest may send before it is ready, or while no
 * result may come. */
#define CONTROL_SMALL_MAX 65536u
/* Returns the greatest length, in bytes, of a result message: two streams in base64, and the
 * keys. */
size_t control_result_max(void);

/* Decodes a message, and sets *type. The caller releases the message. Returns NULL with ERR_INVALID
 * if the message is not valid, or would need too much memory. */
json_t *control_decode(const uint8_t *payload, size_t len, enum control_type *type,
		       struct error *err);
/* Reads a hello. ERR_UNSUPPORTED: guest and host have no protocol version in common. */
int control_read_hello(const json_t *message, struct control_hello *out, struct error *err);

/* Reads a message exec-started or exec-finished. Returns the data for the audit log, marked with
 * "origin":"guest". The caller releases the data. ERR_INVALID: the message is not valid or too
 * long. */
json_t *control_read_exec(const json_t *message, enum control_type type, struct error *err);
/* Reads a message exec-lost. Returns the data for an event audit.gap, marked with "origin":"guest".
 * The caller releases the data. ERR_INVALID: the message is not valid. */
json_t *control_read_lost(const json_t *message, struct error *err);

/* Reads the ports of a message "listening". If the message has no ports, out->told is false.
 * ERR_INVALID: the ports are not a list, the list is too long, or an entry is not a port. */
int control_read_listening(const json_t *message, struct control_listening *out, struct error *err);

/* Returns the message with the run config. The message lacks the time, which control_stamp() adds.
 * If the config has no hostname, control_hostname() makes one from `runtime_id`. */
json_t *control_config(const struct config *config, const char *runtime_id, bool attach,
		       struct error *err);
/* Puts the present wall clock time into the message. Called just before the message is sent. */
int control_stamp(json_t *message, struct error *err);
json_t *control_time(struct error *err);
json_t *control_power_off(struct error *err);
/* Returns a message that asks the guest to mount shares. `shares` is [{tag, path, mountpoint,
 * mode}]; the path is left out of the message. */
json_t *control_mount(const json_t *shares, struct error *err);

/* Functions that return a message about one published port. The message of control_publish() says
 * that the port is published from now on. The message of control_unpublish() says that it is no
 * longer published. */
json_t *control_publish(const json_t *forward, struct error *err);
json_t *control_unpublish(const json_t *forward, struct error *err);
/* Returns a message that asks a guest to prepare its machine for a save. If `goes_on` is true, the
 * machine goes on after the save. */
json_t *control_quiesce(bool goes_on, struct error *err);
/* Returns a message to a guest whose machine will be killed. The message asks the guest to send the
 * reports that it has not sent yet. */
json_t *control_settle(struct error *err);
/* Marks the message with the config as one for a machine that may be saved. A guest that is
 * restored from the save must then ask for a new config. */
int control_put_template(json_t *message, struct error *err);
/* Adds random values to the config of a restored guest, from which the guest makes the identity of
 * its machine. The values are new at each call, so that no two machines have the same identity. */
int control_put_renew(json_t *message, struct error *err);

/* Makes a hostname from `runtime_id`: at most 63 characters, in lower case, with one '-' for each
 * sequence of characters other than letters and digits. If `runtime_id` has no letter and no digit,
 * the hostname is "microagent". */
void control_hostname(const char *runtime_id, char out[64]);

#endif
