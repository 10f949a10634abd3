/* SPDX-License-Identifier: MIT */
/* What Firecracker is told of a machine before it starts: bodies and their order. Pure. */
#ifndef BACKEND_FIRECRACKER_REQUESTS_H
#define BACKEND_FIRECRACKER_REQUESTS_H

#include <jansson.h>

#include "backend/backend.h"

/* Names in the cell. The directory is the one thing there that Firecracker can write names to. */
#define FC_KERNEL "/kernel"
#define FC_INITRD "/initrd"
#define FC_DISKS "/disk"
#define FC_RUN "/run"
#define FC_API_NAME "api.sock"
#define FC_VSOCK_NAME "vsock.sock"
#define FC_LINK_NAME FC_VSOCK_NAME "_1023" /* LINK_PORT */
#define FC_LOG_NAME "log"
#define FC_METRICS_NAME "metrics"
#define FC_TAP "tap0"

/* Beside the root's. A device has an interrupt to itself, of which x86-64 has 19: the root, the
 * card, the vsock, the entropy and the balloon take five, VMGenID one, and VMClock one since 1.15.
 * arm64 has 96, and as many disks here: a config is to be one of both.
 * https://github.com/firecracker-microvm/firecracker/blob/v1.15.1/src/vmm/src/arch/x86_64/layout.rs
 * (GSI_LEGACY_NUM; for arm64 in arch/aarch64), src/vmm/src/device_manager/acpi.rs */
#define FC_DISKS_MAX 12
#define FC_CPUS_MAX 32

/* mac: "" for no card. [{path, body}], each to be PUT; the last starts the machine. NULL without
 * memory. */
json_t *requests_of(const struct vm_boot *boot, const char *mac);

/* Of a disk in the cell: "/disk/rootfs". */
void requests_disk_path(const char *serial, char out[32]);

#endif
