/* SPDX-License-Identifier: MIT */
/*
 * The audit logs of machines: store/audit.h has what a log is, the machine's supervisor writes it,
 * and what commands do to its containers it is told by them. Below <root>/.machines, where
 * microagent(1) reads them: sessions/<machine>/audit.log, archive/ of those that were deleted, and
 * logs/ with the digests of all.
 */
#ifndef OCI_TRAIL_H
#define OCI_TRAIL_H

#include "oci/config/config.h"
#include "oci/record.h"

/* Before the container is made: what of the host the machine sees by it, and what it executes. */
int trail_created(const struct record *record, const struct oci_config *config, struct error *err);
/* Of one in a pod that goes on. */
void trail_deleted(const struct record *record);
/* Removes the oldest archives above TRAILS_KEPT, and the digests that vouch for none. */
#define TRAILS_KEPT 256
void trail_trim(const struct oci *oci);

#endif
