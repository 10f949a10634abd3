/* SPDX-License-Identifier: MIT */
/*
 * The document of a machine, as HcsCreateComputeSystem takes it. Every field is one of the "HCS
 * Schema Reference" (learn.microsoft.com, virtualization/api/hcs/schemareference); docs/hyperv.md
 * has a row for each. Pure.
 */
#ifndef HYPERV_DOCUMENT_H
#define HYPERV_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The schema that has all that is used: LinuxKernelDirect came with 2.2 (Windows 10, 1903). */
#define HCS_SCHEMA_MAJOR 2
#define HCS_SCHEMA_MINOR 2
#define HCS_OWNER "microagent"

/* In the order of the guest's LUNs, the root disk first. */
struct machine_disk {
	const char *name; /* by which the guest is told of it */
	const char *path; /* a VHD or VHDX */
	bool read_only;
};

/* Paths are absolute ones of the host. */
struct machine {
	const char *kernel, *initrd;
	const char *console_pipe; /* of COM1 */
	int64_t memory_mib, cpus;
	const struct machine_disk *disks;
	size_t disk_count;
	/* vsock ports beside the control stream's and the agent's: the guest connects to these of
	 * the host, and is connected to at these of its own. */
	const uint32_t *host_ports, *guest_ports;
	size_t host_port_count, guest_port_count;
};

/* A new reference. */
json_t *machine_document(const struct machine *machine, struct error *err);
/* What the guest's kernel is told; malloc'd. */
char *machine_command_line(const struct machine *machine, struct error *err);

#endif
