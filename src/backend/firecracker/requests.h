/* SPDX-License-Identifier: MIT */
/* The calls of Firecracker's API that describe a machine and start it. Makes the bodies of these
 * calls, and puts the calls in order. The functions are pure. */
#ifndef BACKEND_FIRECRACKER_REQUESTS_H
#define BACKEND_FIRECRACKER_REQUESTS_H

#include <jansson.h>

#include "backend/backend.h"

/* Paths in the cell. Firecracker can make names only in the directory FC_RUN. */
#define FC_KERNEL "/kernel"
#define FC_INITRD "/initrd"
#define FC_DISKS "/disk"
#define FC_RUN "/run"
#define FC_API_NAME "api.sock"
#define FC_VSOCK_NAME "vsock.sock"
#define FC_LINK_NAME FC_VSOCK_NAME "_1023" /* the number in the name is LINK_PORT */
#define FC_LOG_NAME "log"
#define FC_METRICS_NAME "metrics"
#define FC_TAP "tap0"

/* The most disks, without the root disk. Each device needs its own interrupt, and x86-64 has 19
 * interrupts. The root disk, the card, the vsock, the entropy device and the balloon use five of
 * them. VMGenID uses one, and VMClock uses one since 1.15. arm64 has 96 interrupts, but the same
 * limit, so that one config is valid for both.
 * https://github.com/firecracker-microvm/firecracker/blob/v1.15.1/src/vmm/src/arch/x86_64/layout.rs
 * (GSI_LEGACY_NUM; for arm64 in arch/aarch64), src/vmm/src/device_manager/acpi.rs. */
#define FC_DISKS_MAX 12
#define FC_CPUS_MAX 32

/* Returns the requests as an array [{path, body}], which the caller releases. Each request is a
 * PUT, and the last one starts the machine. If `mac` is "", the machine has no card. Returns NULL
 * if there is no memory. */
json_t *requests_of(const struct vm_boot *boot, const char *mac);

/* Writes the path that a disk has in the cell, for example "/disk/rootfs". */
void requests_disk_path(const char *serial, char out[32]);

#endif
