/* SPDX-License-Identifier: MIT */
/* The host's messages on the control stream, decoded. Pure. */
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

/* What makes a machine that was restored another one. */
struct config_renew {
	uint8_t entropy[RENEW_ENTROPY];
	const char *boot_id, *machine_id; /* a UUID; 32 hexadecimal digits */
};

struct guest_config {
	json_t *doc;	      /* owns what the others borrow */
	const char *hostname; /* NULL: leave the kernel's */
	bool has_command;
	struct request workload; /* its doc is a reference to the same */
	bool attach;
	bool telemetry; /* what is run is traced, and the host told of it */
	bool audit;	/* the host wants to be told of commands */
	bool template;	/* it may be saved, and come back as another machine */
	bool renews;	/* it has, and this makes it one: */
	struct config_renew renew;
	json_t *env;		/* NULL: none */
	json_t *disks, *shares; /* arrays or NULL */
	json_t *publishes;	/* array or NULL */
	size_t keep;		/* bytes of each stream for the result */
};

/* The kind of message; *realtime_ns of CONFIG and TIME, 0 when it says none. doc is an object. */
int config_message_kind(json_t *doc, enum host_message *kind, int64_t *realtime_ns,
			struct error *err);
/* Takes its own reference to doc. */
int config_decode(json_t *doc, struct guest_config *out, struct error *err);
void config_free(struct guest_config *config); /* accepts a zeroed one */

/* A disk of the config. */
struct config_disk {
	const char *serial, *mountpoint;
	const char *name; /* for people; the serial where the host gives none */
	bool read_only;
};
int config_disk_decode(json_t *item, struct config_disk *out, struct error *err);
/* The TCP port of a published port of the config; 0: any, which a connection tells. */
int config_publish_decode(json_t *item, uint16_t *guest_port, struct error *err);

/* A shared directory of the config. */
struct config_share {
	const char *tag, *mountpoint;
	bool read_only;
	bool containers; /* their root file systems: with all rights */
};
int config_share_decode(json_t *item, struct config_share *out, struct error *err);

#endif
