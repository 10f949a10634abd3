/* SPDX-License-Identifier: MIT */
/*
 * A plan: the parts of a machine of Virtualization.framework, described in plain C.
 * vz_configuration.m makes the framework's objects from a plan. The framework opens files by name,
 * so a plan contains names.
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
	const char *tag; /* belongs to the config */
	char *path;	 /* NULL: the share gets its directory later (config.hotplug) */
	bool read_only;
};

/* The files that a macOS guest has instead of a kernel. */
struct plan_macos {
	char *hardware_model, *machine_identifier;
	char *auxiliary; /* the guest writes to this file */
};

struct plan {
	char *kernel, *initrd; /* NULL for a macOS guest */
	char *command_line;
	struct plan_macos macos; /* all NULL for a Linux guest */
	int64_t memory_mib, cpus;
	struct plan_disk *disks; /* the root is first, if there is one */
	size_t disk_count;
	struct plan_share *shares; /* the share without a directory is last */
	size_t share_count;
	enum network_mode network;
	const char *interface; /* only for a bridge; belongs to the config */
	int serial_in,
		serial_out; /* the guest's ends of the console, which the plan owns; -1: none */
	/* The ports of the host that the guest may dial; they belong to the caller. */
	const uint32_t *ports;
	size_t port_count;
};
#define PLAN_NONE                                 \
	{                                         \
		.serial_in = -1, .serial_out = -1 \
	}

/* The tag of the share by which a running machine finds a directory that it is given later
 * (share_attach). */
#define PLAN_SPARE_TAG "workspace"

/* Fills in the plan for a boot. The caller sets *out to PLAN_NONE before, and calls plan_free() in
 * any case. */
int plan_of_boot(const struct vm_boot *boot, struct plan *out, struct error *err);
/* Fills in the plan for `check`, from the names in the config. Names of missing files are left out,
 * because other checks report them. The caller sets *out to PLAN_NONE before, and calls plan_free()
 * in any case. */
int plan_of_config(const struct config *config, struct plan *out, struct error *err);
/* Returns true if the plan has everything that vz_check() needs. */
bool plan_is_whole(const struct plan *plan);
void plan_free(struct plan *plan);

#endif
