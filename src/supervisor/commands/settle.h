/* SPDX-License-Identifier: MIT */
/*
 * Stale records: the state says that a VM lives, but its live supervisor ended without recording
 * how (it was killed, or the host was rebooted), and with it everything of the workspace. Whoever
 * comes next records `failed` and cleans up. What was quarantined stays so.
 */
#ifndef SUPERVISOR_SETTLE_H
#define SUPERVISOR_SETTLE_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/commands/record.h"

/* Loads the record and, where it is stale, ends what is left, removes the sockets and records
 * `failed`, or `quarantined` once more. A machine that lives without an event.json, which somebody has
 * removed, counts as `running`, without an event. Under the command lock. */
int settle(struct record *record, struct error *err);
/* The same where the caller knows why (else NULL). */
int settle_for(struct record *record, const char *reason, struct error *err);
/* The same for a command that ends a machine or cuts it off, and does not believe the records of a live
 * supervisor that may have been taken over. A machine that lives counts as `running` too while its event
 * cannot be read. ERR_CONFLICT for another backend's. */
int settle_to_end(struct record *record, struct error *err);
/* Returns whether the machine is known to be cut off, whatever is recorded (store/quarantine_proof.c). The live
 * supervisor of a backend without a broker is believed. */
bool settle_proves_cut(const struct record *record);
/* For kill and delete with --keep-quarantined: ERR_CONFLICT where the workspace is in quarantine. A machine
 * that lives and is not known to be cut off is in none. */
int settle_refuse_quarantined(const struct record *record, struct error *err);
/* The same as settle() without the command lock, which is taken only for a record that is stale. */
int settle_if_stale(struct record *record, struct error *err);
/* The lease is damaged, as why says, and nothing of the workspace is known to live. */
bool settle_finds_damaged_lease(const struct record *record, struct error *why);
/* The lease is held by somebody who goes on. The last moments of a VM that has ended, or whose
 * supervisor was killed, are waited out. */
bool settle_finds_life(const struct record *record);

#endif
