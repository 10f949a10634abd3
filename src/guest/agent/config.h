/* SPDX-License-Identifier: MIT */
/* Decodes the host's messages on the control stream. The functions are pure. */
#ifndef GUEST_CONFIG_H
#define GUEST_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/agent/request.h"

#define RENEW_ENTROPY 64 /* bytes */

enum host_message {
	HOST_CONFIG,
	HOST_TIME,
	HOST_POWER_OFF,
	HOST_MOUNT,
	HOST_PUBLISH,
	HOST_UNPUBLISH,
	HOST_QUIESCE,
	HOST_SETTLE,
	HOST_UNKNOWN
};

/* The values that give a restored machine a new identity. */
struct config_renew {
	uint8_t entropy[RENEW_ENTROPY];
	const char *boot_id, *machine_id; /* a UUID, and 32 hexadecimal digits */
};

struct guest_config {
	json_t *doc;	      /* the document, which owns the texts and JSON of the members below */
	const char *hostname; /* NULL: the kernel's name is kept */
	bool has_command;
	/* The workload's command; its doc is a reference to the config's document. */
	struct request workload;
	bool attach;
	bool telemetry; /* commands are traced, and the host gets the records */
	bool audit;	/* the host wants a message about each command */
	bool template;	/* the machine may be saved, and restored as another machine */
	bool renews;	/* the machine was restored, and `renew` has its new identity */
	struct config_renew renew;
	json_t *env;		/* NULL: none */
	json_t *disks, *shares; /* arrays, or NULL */
	json_t *publishes;	/* array, or NULL */
	size_t keep;		/* bytes of each stream for the result */
};

/* Finds the kind of a message. *realtime_ns is set for CONFIG and TIME; 0 if the message has none.
 * `doc` must be an object. */
int config_message_kind(json_t *doc, enum host_message *kind, int64_t *realtime_ns,
			struct error *err);
/* Decodes a config. Takes its own reference to `doc`. */
int config_decode(json_t *doc, struct guest_config *out, struct error *err);
void config_free(struct guest_config *config); /* accepts a zeroed struct */

/* A disk that the config names, and its place in the guest. */
struct config_disk {
	const char *serial, *mountpoint;
	/* The name in messages for people; the serial if the host gives no name. */
	const char *name;
	bool read_only;
};
int config_disk_decode(json_t *item, struct config_disk *out, struct error *err);
/* Reads the TCP port of the guest from a published port of the config. 0 means any port: each
 * connection then names its port. */
int config_publish_decode(json_t *item, uint16_t *guest_port, struct error *err);

/* A shared directory that the config names, and its place in the guest. */
struct config_share {
	const char *tag, *mountpoint;
	bool read_only;
	bool containers; /* root file systems of containers: mounted with all rights */
};
int config_share_decode(json_t *item, struct config_share *out, struct error *err);

#endif
