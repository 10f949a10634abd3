/* SPDX-License-Identifier: MIT */
/* Functions that decide which machine a container gets (its own or its pod's), how large that
 * machine is, and which kernel it has. */
#ifndef OCI_MACHINE_H
#define OCI_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Returns the id of the pod's first container, which may be this one; NULL if the container has no
 * pod. */
const char *machine_sandbox(const struct oci_config *config);
/* Returns true if the container belongs to a pod, as its first container or as a later one. */
bool machine_is_of_pod(const struct oci_config *config);
/* Returns the member "boot" of a stand-in's ticket, from the annotations of the config.
 * ERR_INVALID: an annotation has a wrong value; the error names it. */
json_t *machine_boot(const struct oci *oci, const char *id, const struct oci_config *config,
		     const char *share, struct error *err);

/* Returns a ticket (standin_impl.h) without the members that only a container's first process has.
 * The caller releases the ticket. Takes over `contained`. */
json_t *standin_ticket(const struct oci *oci, const char *id, const char *machine,
		       const struct oci_process *process, json_t *contained, struct error *err);

/* Puts the path of the container's root on the host into a ticket. */
int put_rootfs(json_t *ticket, const char *share, const char *guest, struct error *err);

#endif
