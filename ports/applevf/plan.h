/* SPDX-License-Identifier: MIT */
/*
 * What a machine of Virtualization.framework is made of, in words of C: what vz_configuration.m
 * makes the framework's objects of. The framework takes files by name, so a plan has names.
 */
#ifndef BACKEND_APPLEVF_PLAN_H
#define BACKEND_APPLEVF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

struct plan_disk {
	char *path;
	char serial[VM_SERIAL_SIZE];
	bool read_only;
};

struct plan_share {
	const char *tag; /* borrowed */
	char *path;	 /* NULL: nothing yet (config.hotplug) */
	bool read_only;
};

/* In the place of a kernel. */
struct plan_macos {
	char *hardware_model, *machine_identifier;
	char *auxiliary; /* the guest writes to it */
};

struct plan {
	char *kernel, *initrd; /* NULL: of a macOS guest */
	char *command_line;
	struct plan_macos macos; /* all NULL: of a Linux */
	int64_t memory_mib, cpus;
	struct plan_disk *disks; /* the root first, where it is one */
	size_t disk_count;
	struct plan_share *shares; /* the empty one last */
	size_t share_count;
	enum network_mode network;
	const char *interface;	   /* borrowed; of a bridge */
	int serial_in, serial_out; /* the guest's ends of its console, its own; -1: it has none */
	const uint32_t *ports;	   /* borrowed: of the host, that the guest may dial */
	size_t port_count;
};
#define PLAN_NONE                                 \
	{                                         \
		.serial_in = -1, .serial_out = -1 \
	}

/* By the tag of this one a running machine finds the directory that it is given (share_attach). */
#define PLAN_SPARE_TAG "workspace"

/* For a boot. *out is to be PLAN_NONE, and released in any case. */
int plan_of_boot(const struct vm_boot *boot, struct plan *out, struct error *err);
/* For `check`: the same with the names of the config, of which those that are not there are passed
 * over: that is for others to say. */
int plan_of_config(const struct config *config, struct plan *out, struct error *err);
/* Whether all that the framework must have to judge it is there. */
bool plan_is_whole(const struct plan *plan);
void plan_free(struct plan *plan);

#endif
