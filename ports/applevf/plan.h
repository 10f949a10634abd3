/* SPDX-License-Identifier: MIT */
/*
 * A plan describes the parts of a machine of Virtualization.framework in plain C.
 * vz_configuration.m makes the framework's objects from a plan. The framework opens files by their
 * paths, so a plan has paths and not file descriptors.
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
	const char *tag; /* the tag by which the guest mounts the share; belongs to the config */
	/* The directory on the host. NULL: the share gets its directory later (config.hotplug). */
	char *path;
	bool read_only;
};

/* The files that a macOS guest has instead of a kernel. */
struct plan_macos {
	char *hardware_model, *machine_identifier;
	char *auxiliary; /* the auxiliary storage, a file to which the guest writes */
};

struct plan {
	char *kernel, *initrd; /* the paths of kernel and initrd; NULL for a macOS guest */
	char *command_line;
	struct plan_macos macos; /* the files of a macOS guest; NULL members for a Linux guest */
	int64_t memory_mib, cpus;
	struct plan_disk *disks; /* the root disk comes first if there is one */
	size_t disk_count;
	struct plan_share *shares; /* a share without a directory is the last one */
	size_t share_count;
	enum network_mode network;
	/* The host's interface for a bridged network, otherwise NULL. The string belongs to the
	 * config. */
	const char *interface;
	/* The guest's ends of the console's pipes, which the plan owns. -1: none. */
	int serial_in, serial_out;
	/* The host's ports to which the guest may connect; the array belongs to the caller. */
	const uint32_t *ports;
	size_t port_count;
};
#define PLAN_NONE                                 \
	{                                         \
		.serial_in = -1, .serial_out = -1 \
	}

/* The tag of the share that has no directory when the machine starts. The running machine can get a
 * directory for this share (share_attach). */
#define PLAN_SPARE_TAG "workspace"

/* Makes the plan for a boot. The caller sets *out to PLAN_NONE before this call, and calls
 * plan_free() afterwards, even after an error. */
int plan_of_boot(const struct vm_boot *boot, struct plan *out, struct error *err);
/* Makes the plan for the command `check`, from the paths in the config. Leaves out files that do
 * not exist, since other checks report these. The caller sets *out to PLAN_NONE before this call,
 * and calls plan_free() afterwards, even after an error. */
int plan_of_config(const struct config *config, struct plan *out, struct error *err);
/* Returns true if the plan has everything that vz_check() needs. */
bool plan_is_whole(const struct plan *plan);
void plan_free(struct plan *plan);

#endif
