/* SPDX-License-Identifier: MIT */
/*
 * Functions for the audit logs of machines (store/audit.h). The machine's live supervisor writes
 * the audit log. The commands of microagent-oci report to the live supervisor what they do with
 * containers. The logs are below <root>/.machines, in the layout that microagent(1) reads:
 * sessions/<machine>/audit.log, archive/ for deleted machines, and logs/ for the digests of all
 * audit logs.
 */
#ifndef OCI_TRAIL_H
#define OCI_TRAIL_H

#include "oci/config/config.h"
#include "oci/record.h"

/* Notes in the audit log that a container will be made. The entry has the directories and files of
 * the host that the machine gets for the container, and the command that the container executes. */
int trail_created(const struct record *record, const struct oci_config *config, struct error *err);
/* Notes in the audit log that a container of a pod was deleted while the pod's machine goes on. */
void trail_deleted(const struct record *record);
/* Removes the oldest archives until TRAILS_KEPT are left. Then removes the digests that belong to
 * no remaining log. */
#define TRAILS_KEPT 256
void trail_trim(const struct oci *oci);

#endif
