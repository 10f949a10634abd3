/* SPDX-License-Identifier: MIT */
/*
 * The messages of the guest control stream: JSON objects with a "type". Those of the guest are
 * hostile until decoded here; those of the host are made here. Pure.
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
	CONTROL_UNKNOWN, /* of a later guest: passed over */
};

struct control_hello {
	const char *version; /* of the guest's software; borrowed from the message */
	const char *boot_id;
	int64_t generation;
	bool restored; /* it was saved once, and is to be made another machine */
	bool linked;   /* its agent serves the link too */
};

/* Which TCP ports have a server in the guest, by its word. */
struct control_listening {
	bool told; /* else it cannot tell, or has not yet */
	struct port_set ports;
};

/* Longest payload that a guest may send before it is ready, and when it has no result to give. */
#define CONTROL_SMALL_MAX 65536u
/* Longest result: both streams in base64 and their frame of keys. */
size_t control_result_max(void);

/* A new reference, or NULL with ERR_INVALID. Refuses what would cost much memory to hold. */
json_t *control_decode(const uint8_t *payload, size_t len, enum control_type *type,
		       struct error *err);
/* ERR_UNSUPPORTED where no common protocol version exists. */
int control_read_hello(const json_t *message, struct control_hello *out, struct error *err);

/* Of exec-started and exec-finished: what goes into the audit log, a new object marked as the
 * guest's word. ERR_INVALID for what is not as it must be, or too long. */
json_t *control_read_exec(const json_t *message, enum control_type type, struct error *err);
/* Of exec-lost: the same, for an audit.gap. */
json_t *control_read_lost(const json_t *message, struct error *err);

/* Reads the ports of a message "listening". ERR_INVALID: it has no list of ports, or a too long one. */
int control_read_listening(const json_t *message, struct control_listening *out, struct error *err);

/* The run config, without the time, which control_stamp() puts in. hostname is derived from
 * runtime_id when the config has none. */
json_t *control_config(const struct config *config, const char *runtime_id, bool attach,
		       struct error *err);
/* The wall time of now, just before sending. */
int control_stamp(json_t *message, struct error *err);
json_t *control_time(struct error *err);
json_t *control_power_off(struct error *err);
/* shares: [{tag, path, mountpoint, mode}], of which the guest is not told the path. */
json_t *control_mount(const json_t *shares, struct error *err);

/* The guest's side of one more published port, and of one that is published no more. */
json_t *control_publish(const json_t *forward, struct error *err);
json_t *control_unpublish(const json_t *forward, struct error *err);
/* Has a machine that is a template get ready to be saved. */
json_t *control_quiesce(bool goes_on, struct error *err);
/* Has a machine that is about to be killed tell what it has not told yet. */
json_t *control_settle(struct error *err);
/* Into a config: the machine may be saved, and its guest will take a config anew when it comes back
 * as another one. */
int control_put_template(json_t *message, struct error *err);
/* Into the config of a guest that says it was restored: what makes it a machine of its own, drawn
 * anew at each call. */
int control_put_renew(json_t *message, struct error *err);

/* Lower case, runs of anything but letters and digits become one '-', at most 63 characters;
 * "microagent" when nothing is left. out needs 64 bytes. */
void control_hostname(const char *runtime_id, char out[64]);

#endif
