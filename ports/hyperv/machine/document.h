/* SPDX-License-Identifier: MIT */
/*
 * Makes the document of a machine for HcsCreateComputeSystem. Every field is from the "HCS Schema
 * Reference" (learn.microsoft.com, virtualization/api/hcs/schemareference). docs/hyperv.md has a
 * row for each field. The functions have no side effects.
 */
#ifndef HYPERV_DOCUMENT_H
#define HYPERV_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The version of the schema that has all fields that are used. LinuxKernelDirect came with 2.2
 * (Windows 10, 1903). */
#define HCS_SCHEMA_MAJOR 2
#define HCS_SCHEMA_MINOR 2
#define HCS_OWNER "microagent"

/* A disk of the machine. In a list the index of a disk is its LUN. The root disk comes first. */
struct machine_disk {
	const char *name; /* the name of the disk for the guest */
	const char *path; /* the path of a VHD or VHDX */
	bool read_only;
};

/* The parts of which a machine is made. All paths are absolute paths of the host. */
struct machine {
	const char *kernel, *initrd;
	const char *console_pipe; /* the pipe to which COM1 is connected */
	int64_t memory_mib, cpus;
	const struct machine_disk *disks;
	size_t disk_count;
	/* The vsock ports other than those of the control stream and the agent. `host_ports` are
	 * ports of the host, to which the guest connects. `guest_ports` are ports of the guest, to
	 * which the host connects. */
	const uint32_t *host_ports, *guest_ports;
	size_t host_port_count, guest_port_count;
};

/* Returns the document, which the caller releases; NULL with an error. */
json_t *machine_document(const struct machine *machine, struct error *err);
/* Returns the command line of the guest's kernel, which the caller frees; NULL with an error. */
char *machine_command_line(const struct machine *machine, struct error *err);

#endif
