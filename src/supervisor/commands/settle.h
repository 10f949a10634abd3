/* SPDX-License-Identifier: MIT */
/*
 * Repairs stale records. A record is stale if its state says that a machine lives, but the live
 * supervisor was killed, or the host was rebooted, before the end was recorded. All processes of
 * the workspace have then ended with the live supervisor. The next command records `failed` and
 * cleans up. A workspace that was quarantined stays quarantined.
 */
#ifndef SUPERVISOR_SETTLE_H
#define SUPERVISOR_SETTLE_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/commands/record.h"

/* Loads the record. If the record is stale, ends the processes that are left, removes the sockets,
 * and records `failed`, or `quarantined` once more if the workspace was in quarantine. If a machine
 * lives and its event.json is missing, somebody has removed the file: the state is then `running`,
 * and there is no event. Called under the command lock. ERR_IO: the lease is damaged, and no
 * process is known to live. */
int settle(struct record *record, struct error *err);
/* Works like settle(). `reason` says why the machine has ended, and is written into the event;
 * NULL: the reason is not known. */
int settle_for(struct record *record, const char *reason, struct error *err);
/* Works like settle(), for a command that ends a machine or cuts it off. An attacker who controls
 * the live supervisor may have damaged its records. So the state of a living machine is `running`
 * if its event cannot be read. ERR_CONFLICT: the workspace belongs to another backend. */
int settle_to_end(struct record *record, struct error *err);
/* Returns true if a proof of the broker says that the machine is cut off
 * (store/quarantine_proof.c). An event that says so is not enough. If the backend has no broker,
 * there are no proofs, and the function returns true. */
bool settle_proves_quarantine(const struct record *record);
/* Checks the option --keep-quarantined of halt, stop, kill and delete. ERR_CONFLICT: the option is
 * given, and the workspace is in quarantine. A machine that lives counts as being in quarantine
 * only if it is proven to be cut off. */
int settle_refuse_quarantined(const struct record *record, struct error *err);
/* Works like settle(), but is called without the command lock, and takes the lock only if the
 * record is stale. */
int settle_if_stale(struct record *record, struct error *err);
/* Returns whether the lease is damaged and no process of the workspace is known to live. If the
 * lease is damaged, *why says so. */
bool settle_finds_damaged_lease(const struct record *record, struct error *why);
/* Returns true if a process holds the lease and will go on holding it. If the live supervisor was
 * killed, first ends the processes that remain of its machine. If the machine has ended, first
 * waits up to LIMIT_ENDING_MS for processes that are already exiting. */
bool settle_finds_life(const struct record *record);

#endif
