/* SPDX-License-Identifier: MIT */
/*
 * Repairs stale records. A record is stale if its state says that a VM lives, but the live
 * supervisor ended without recording how. (It was killed, or the host was rebooted.) Everything of
 * the workspace ended with it. The next command records `failed` and cleans up. A workspace that
 * was quarantined stays quarantined.
 */
#ifndef SUPERVISOR_SETTLE_H
#define SUPERVISOR_SETTLE_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/commands/record.h"

/* Loads the record. If it is stale, ends the remaining processes, removes the sockets and records
 * `failed`, or `quarantined` once more. A machine that lives and has no event.json, because
 * somebody has removed the file, counts as `running`, without an event. Called under the command
 * lock. */
int settle(struct record *record, struct error *err);
/* Does the work of settle(). reason: why the machine ended, if the caller knows it; else NULL. */
int settle_for(struct record *record, const char *reason, struct error *err);
/* Does the work of settle() for a command that ends a machine or cuts it off. It does not believe
 * the records of a live supervisor, which may have been taken over. A machine that lives also
 * counts as `running` while its event cannot be read. ERR_CONFLICT: the workspace belongs to
 * another backend. */
int settle_to_end(struct record *record, struct error *err);
/* Returns whether the machine is known to be cut off, whatever is recorded
 * (store/quarantine_proof.c). If the backend has no broker, the live supervisor is believed. */
bool settle_proves_cut(const struct record *record);
/* Refuses kill and delete with --keep-quarantined: ERR_CONFLICT if the workspace is in quarantine.
 * A machine that lives and is not known to be cut off is not in quarantine. */
int settle_refuse_quarantined(const struct record *record, struct error *err);
/* Does the work of settle(), called without the command lock. Takes the lock only for a record that
 * is stale. */
int settle_if_stale(struct record *record, struct error *err);
/* Returns whether the lease is damaged, as why says, and no process of the workspace is known to
 * live. */
bool settle_finds_damaged_lease(const struct record *record, struct error *why);
/* Returns whether a process that goes on holds the lease. If the VM has ended, or its supervisor
 * was killed, waits for its last moments first. */
bool settle_finds_life(const struct record *record);

#endif
