/* SPDX-License-Identifier: MIT */
/* Which machine a container gets: its own, or its pod's; how large, with which kernel. */
#ifndef OCI_MACHINE_H
#define OCI_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* The id of the pod's first container, which may be this one; NULL: it is of no pod. */
const char *machine_sandbox(const struct oci_config *config);
/* It is a pod's container, the first one or another. */
bool machine_is_of_pod(const struct oci_config *config);
/* The "boot" of a stand-in's ticket. ERR_INVALID names the annotation. */
json_t *machine_boot(const struct oci *oci, const char *id, const struct oci_config *config,
		     const char *share, struct error *err);

/* A ticket (standin_main.c) without what only a container's first process has. contained is
 * stolen. */
json_t *standin_ticket(const struct oci *oci, const char *id, const char *machine,
		       const struct oci_process *process, json_t *contained, struct error *err);

/* Where the host has the container's root: into a ticket. */
int put_rootfs(json_t *ticket, const char *share, const char *guest, struct error *err);

#endif
