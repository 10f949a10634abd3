/* SPDX-License-Identifier: MIT */
/*
 * The audit logs of machines. store/audit.h says what such a log is. The machine's live supervisor
 * writes the log. Commands report their work on the containers to the live supervisor. The logs are
 * below <root>/.machines, where microagent(1) reads them: sessions/<machine>/audit.log, archive/
 * for deleted machines, and logs/ with the digests of all logs.
 */
#ifndef OCI_TRAIL_H
#define OCI_TRAIL_H

#include "oci/config/config.h"
#include "oci/record.h"

/* Notes a container before it is made: which directories and files of the host the machine gets for
 * it, and which command it executes. */
int trail_created(const struct record *record, const struct oci_config *config, struct error *err);
/* Notes that a container was deleted from a pod whose machine goes on. */
void trail_deleted(const struct record *record);
/* Removes the oldest archives until TRAILS_KEPT are left, and removes digests that belong to no log
 * any more. */
#define TRAILS_KEPT 256
void trail_trim(const struct oci *oci);

#endif
