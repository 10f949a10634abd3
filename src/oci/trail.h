/* SPDX-License-Identifier: MIT */
/*
 * The audit logs of machines. store/audit.h says what a log is. The machine's supervisor writes the
 * log, and commands tell the supervisor what they do to the containers. The logs are below
 * <root>/.machines, where `microagent audit` reads them: sessions/<machine>/audit.log; archive/
 * for deleted machines; and logs/ with the digests of all.
 */
#ifndef OCI_TRAIL_H
#define OCI_TRAIL_H

#include "oci/config/config.h"
#include "oci/record.h"

/* Notes a container before it is made: what the machine sees of the host through it, and what the
 * container executes. */
int trail_created(const struct record *record, const struct oci_config *config, struct error *err);
/* Notes that a container was deleted from a pod that goes on. */
void trail_deleted(const struct record *record);
/* Removes the oldest archives above TRAILS_KEPT, and digests that belong to no log any more. */
#define TRAILS_KEPT 256
void trail_trim(const struct oci *oci);

#endif
