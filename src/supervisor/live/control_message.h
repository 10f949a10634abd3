/* SPDX-License-Identifier: MIT */
/*
 * The messages of the guest control stream: JSON objects with a "type". The guest's messages are
 * hostile until they are decoded here. The host's messages are made here. Pure.
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

#define CONTROL_PROTOCOL 1 /* the one version spoken here */

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
	CONTROL_UNKNOWN, /* from a newer guest: ignored */
};

struct control_hello {
	const char *version; /* version of the guest's software; borrowed from the message */
	const char *boot_id;
	int64_t generation;
	bool restored; /* it was restored, and must be made another machine */
	bool linked;   /* its agent also serves the link */
};

/* The TCP ports that have a server in the guest, by the guest's word. */
struct control_listening {
	bool told; /* false: the guest cannot tell, or has not told yet */
	struct port_set ports;
};

/* The longest payload that a guest may send before it is ready, or if it has no result to give. */
#define CONTROL_SMALL_MAX 65536u
/* Returns the length of the longest result: both streams in base64 and the keys around them. */
size_t control_result_max(void);

/* Decodes a message. Returns a new reference, or NULL with ERR_INVALID. Refuses a message that
 * would need much memory. */
json_t *control_decode(const uint8_t *payload, size_t len, enum control_type *type,
		       struct error *err);
/* Reads a hello. ERR_UNSUPPORTED: guest and host have no protocol version in common. */
int control_read_hello(const json_t *message, struct control_hello *out, struct error *err);

/* Reads exec-started or exec-finished. Returns what goes into the audit log: a new object, marked
 * as the guest's word. ERR_INVALID: the message is wrong or too long. */
json_t *control_read_exec(const json_t *message, enum control_type type, struct error *err);
/* Reads exec-lost. Returns what goes into an audit.gap: a new object, marked as the guest's
 * word. */
json_t *control_read_lost(const json_t *message, struct error *err);

/* Reads the ports of a message "listening". A message without ports leaves out->told false.
 * ERR_INVALID: the ports are no list, the list is too long, or an entry is no port. */
int control_read_listening(const json_t *message, struct control_listening *out, struct error *err);

/* Returns the run config without the time; control_stamp() adds the time. If the config has no
 * hostname, it is derived from runtime_id. */
json_t *control_config(const struct config *config, const char *runtime_id, bool attach,
		       struct error *err);
/* Puts the present wall time into the message. Called just before sending. */
int control_stamp(json_t *message, struct error *err);
json_t *control_time(struct error *err);
json_t *control_power_off(struct error *err);
/* Returns a message that asks for mounts. shares: [{tag, path, mountpoint, mode}]. The guest is not
 * told the path. */
json_t *control_mount(const json_t *shares, struct error *err);

/* Return the message for the guest when one more port is published, or when a port is published no
 * more. */
json_t *control_publish(const json_t *forward, struct error *err);
json_t *control_unpublish(const json_t *forward, struct error *err);
/* Returns a message that asks a template machine to get ready to be saved. goes_on: the machine
 * goes on after that. */
json_t *control_quiesce(bool goes_on, struct error *err);
/* Returns a message that asks the guest of a machine that is about to be killed to tell what it has
 * not told yet. */
json_t *control_settle(struct error *err);
/* Adds to a config that the machine may be saved, and that its guest takes a new config when it
 * comes back as another machine. */
int control_put_template(json_t *message, struct error *err);
/* Adds to the config of a restored guest what makes it a machine of its own. The values are drawn
 * anew at each call. */
int control_put_renew(json_t *message, struct error *err);

/* Makes a hostname from runtime_id: lower case, at most 63 characters, each run of other characters
 * than letters and digits becomes one '-'. It is "microagent" if nothing is left. out needs 64
 * bytes. */
void control_hostname(const char *runtime_id, char out[64]);

#endif
