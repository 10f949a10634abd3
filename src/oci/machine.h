/* SPDX-License-Identifier: MIT */
/* Functions that choose a container's machine (its own or its pod's), and the size and kernel of a
 * new machine. */
#ifndef OCI_MACHINE_H
#define OCI_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Returns the id of the pod's first container. Returns NULL if the container itself is the first
 * one, or has no pod. */
const char *machine_sandbox(const struct oci_config *config);
/* Returns true if the container belongs to a pod, as its first container or as a later one. */
bool machine_is_of_pod(const struct oci_config *config);
/* Returns the member "boot" of a stand-in's ticket, from the annotations and limits of the config.
 * The caller releases it. ERR_INVALID: an annotation has a wrong value; the error names the
 * annotation. */
json_t *machine_boot(const struct oci *oci, const char *id, const struct oci_config *config,
		     const char *share, struct error *err);

/* Returns a ticket (standin_impl.h) with the members that every stand-in needs. The members for a
 * container's first process are missing. The caller releases the ticket. The function takes over
 * the reference to `contained`. */
json_t *standin_ticket(const struct oci *oci, const char *id, const char *machine,
		       const struct oci_process *process, json_t *contained, struct error *err);

/* Puts the path of the container's root, as it is below the share on the host, into a ticket. */
int put_rootfs(json_t *ticket, const char *share, const char *guest, struct error *err);

#endif
