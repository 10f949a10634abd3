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

#define RENEW_ENTROPY 64 /* number of random bytes that a restored machine gets */

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
	/* boot_id is a UUID, machine_id has 32 hexadecimal digits. */
	const char *boot_id, *machine_id;
};

struct guest_config {
	/* The config as JSON. The strings and JSON values of the other members belong to it. */
	json_t *doc;
	const char *hostname; /* the guest's host name; NULL: the kernel's host name is kept */
	bool has_command;
	/* The workload's command. workload.doc is a reference to the same JSON as `doc`. */
	struct request workload;
	bool attach;
	bool telemetry; /* commands are traced, and the host gets the records */
	bool audit;	/* the host wants a message about the start and the end of each command */
	bool template;	/* the machine may be saved, and restored as other machines */
	bool renews;	/* the machine was restored, and `renew` has its new identity */
	struct config_renew renew;
	/* The environment of all commands, an object; NULL: the config has none. */
	json_t *env;
	/* Arrays of the disks and of the shares; each is NULL if the config has none. */
	json_t *disks, *shares;
	json_t *publishes; /* an array of the published ports; NULL: the config has none */
	size_t keep;	   /* the most bytes of each output stream in the result */
};

/* Finds the kind of a message. Sets *realtime_ns for the kinds HOST_CONFIG and HOST_TIME; 0 means
 * that the message has no time. `doc` must be an object. */
int config_message_kind(json_t *doc, enum host_message *kind, int64_t *realtime_ns,
			struct error *err);
/* Decodes a config. *out gets its own reference to `doc`. */
int config_decode(json_t *doc, struct guest_config *out, struct error *err);
void config_free(struct guest_config *config); /* accepts a struct whose members are all 0 */

/* A disk that the config names, and the directory of the guest where it is mounted. */
struct config_disk {
	const char *serial, *mountpoint;
	/* The disk's name in messages for users. If the host gives no name, `name` is the
	 * serial. */
	const char *name;
	bool read_only; /* the mode is "ro" or "review" */
	/* The id of the upper layer of a disk with the mode "review", which is the lower layer of an
	 * overlay at the mountpoint. NULL: the disk itself is mounted there. */
	const char *upper;
};
/* Returns whether the text is the id of an upper layer: 32 lower-case hexadecimal digits. */
bool config_is_upper(const char *id);
int config_disk_decode(json_t *item, struct config_disk *out, struct error *err);
/* Reads the guest's TCP port from an entry of the config's published ports. 0 means any port: each
 * connection then names the port that it wants. */
int config_publish_decode(json_t *item, uint16_t *guest_port, struct error *err);

/* A shared directory that the config names, and the directory of the guest where it is mounted. */
struct config_share {
	const char *tag, *mountpoint;
	bool read_only;
	/* The share has root file systems of containers, and is mounted without restrictions such
	 * as nosuid. */
	bool containers;
};
int config_share_decode(json_t *item, struct config_share *out, struct error *err);

#endif
