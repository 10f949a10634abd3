/* SPDX-License-Identifier: MIT */
/*
 * Digests that protect workspace.json and session.json, the records that decide which disks,
 * directories and rights a machine gets. A live supervisor that was taken over can write all files
 * of the workspace. So the digest of the value that a command recorded lies beside the command lock
 * (<stateDir>/.locks/), where the live supervisor cannot write. A program that gives a machine a
 * disk, a directory or another right because of such a record first compares the record with its
 * digest.
 *
 * Two digests are accepted while a record is being replaced. The writer first announces the digest
 * of the next record, then writes the record, then settles on it: from then on only its digest is
 * accepted. If the writer is killed between these steps, the old or the new record is in the file,
 * and both are accepted. A record that has no digest was made by an earlier version, or was copied
 * by hand. Such a record is accepted as it is, and start settles on it.
 *
 * A digest is computed from the record's value and not from its bytes, so white space and the order
 * of keys do not count. In session.json the members that the live supervisor records by itself do
 * not count either: the quota and the session's end.
 */
#ifndef STORE_RECORD_DIGEST_H
#define STORE_RECORD_DIGEST_H

#include <jansson.h>

#include "base/error.h"
#include "store/store.h"

/* Accepts `next` as the value of the file from here on. If the present value was accepted, it is
 * still accepted. `file` is "workspace.json" or "session.json". The caller has the command lock or
 * the lock of record_change_lock(), or is making the workspace. */
int record_digest_announce(const struct workspace *ws, const char *file, const json_t *next,
			   struct error *err);
/* Accepts only the value `now` from here on. Writes nothing if no other value is accepted already.
 */
int record_digest_settle(const struct workspace *ws, const char *file, const json_t *now,
			 struct error *err);
/* Announces the value, writes the record and settles on it. */
int workspace_write_accepted(const struct workspace *ws, const char *file, const json_t *value,
			     enum store_sync sync, struct error *err);
/* Reads a record like workspace_read(). ERR_CONFLICT: no command has recorded this value, and the
 * message names the file. */
json_t *workspace_read_accepted(const struct workspace *ws, const char *file, struct error *err);

/* Takes the lock for a change of workspace.json that a live supervisor makes for a command. The
 * command holds the lock from before it announces the record until it has settled on the record.
 * Waits for the lock until the deadline (monotonic). Returns a descriptor, which the caller closes.
 */
int record_change_lock(const struct workspace *ws, uint64_t deadline_ns, struct error *err);

#endif
