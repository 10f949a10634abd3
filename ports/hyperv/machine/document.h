/* SPDX-License-Identifier: MIT */
/*
 * Makes the document of a machine for HcsCreateComputeSystem. Every field is from the "HCS Schema
 * Reference" (learn.microsoft.com, virtualization/api/hcs/schemareference). docs/hyperv.md
 * describes each field in a table. The functions have no side effects.
 */
#ifndef HYPERV_DOCUMENT_H
#define HYPERV_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The lowest version of the HCS schema with all fields that this program uses. LinuxKernelDirect
 * exists since 2.2 (Windows 10, 1903). */
#define HCS_SCHEMA_MAJOR 2
#define HCS_SCHEMA_MINOR 2
#define HCS_OWNER "microagent"

/* A disk of the machine. In the list of disks, a disk's index is its LUN. The root disk comes
 * first. */
struct machine_disk {
	const char *name; /* the name by which the guest knows the disk */
	const char *path; /* the path of the VHD or VHDX */
	bool read_only;
};

/* The values from which the document is made. All paths are absolute paths of the host. */
struct machine {
	const char *kernel, *initrd;
	const char *console_pipe; /* the named pipe to which COM1 is connected */
	int64_t memory_mib, cpus;
	const struct machine_disk *disks;
	size_t disk_count;
	/* The vsock ports, except those of the control stream and the agent. `host_ports` are ports
	 * of the host, to which the guest connects. `guest_ports` are ports of the guest, to which
	 * the host connects. */
	const uint32_t *host_ports, *guest_ports;
	size_t host_port_count, guest_port_count;
};

/* Returns the document, which the caller releases, or NULL with err set. */
json_t *machine_document(const struct machine *machine, struct error *err);
/* Returns the command line of the guest's kernel, which the caller frees, or NULL with err set. */
char *machine_command_line(const struct machine *machine, struct error *err);

#endif
