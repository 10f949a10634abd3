/* SPDX-License-Identifier: MIT */
/*
 * Protects workspace.json and session.json by digests. These records decide which disks,
 * directories and rights a machine gets. A live supervisor that was taken over can write all files
 * of the workspace. So the digest of what a command recorded is beside the command lock
 * (<stateDir>/.locks/), where the live supervisor cannot write. Before a program gives a machine a
 * disk, a directory or another right because of a record, it compares the record with its digest.
 *
 * While a record is being replaced, two digests are accepted. The writer first announces the digest
 * of the next record, and then writes the record. Last, it settles on the record: from then on only
 * this record's digest is accepted. If the writer is killed between these steps, the file has the
 * old or the new record, and both are accepted. A record without a digest was made by an earlier
 * version of microagent, or was copied manually. Such a record is accepted unchanged, and a start
 * settles on it.
 *
 * A digest is computed from the record's value and not from its bytes, so white space and the order
 * of keys do not count. In session.json, members that the live supervisor writes without a command
 * do not count either: the quota and the session's end.
 */
#ifndef STORE_RECORD_DIGEST_H
#define STORE_RECORD_DIGEST_H

#include <jansson.h>

#include "base/error.h"
#include "store/store.h"

/* Announces `next`: accepts it as the value of the file from now on. If the current value is
 * accepted, it stays accepted too. `file` is "workspace.json" or "session.json". The caller has the
 * command lock or the lock of record_change_lock(), or is making the workspace. */
int record_digest_announce(const struct workspace *ws, const char *file, const json_t *next,
			   struct error *err);
/* Settles on `now`: accepts only this value from now on. If no other value is accepted anyway,
 * writes nothing. */
int record_digest_settle(const struct workspace *ws, const char *file, const json_t *now,
			 struct error *err);
/* Announces the value, writes the record, and settles on it: only this value is accepted
 * afterwards. */
int workspace_write_accepted(const struct workspace *ws, const char *file, const json_t *value,
			     enum store_sync sync, struct error *err);
/* Reads a record as workspace_read() does. ERR_CONFLICT: no command has recorded this value; the
 * message names the file. */
json_t *workspace_read_accepted(const struct workspace *ws, const char *file, struct error *err);

/* Takes the lock for a change of workspace.json that a live supervisor makes for a command. The
 * command takes this lock before it announces the record, and releases it after it has settled on
 * the record. Waits for the lock until the deadline (monotonic time in nanoseconds). Returns a
 * descriptor of the lock, which the caller closes. */
int record_change_lock(const struct workspace *ws, uint64_t deadline_ns, struct error *err);

#endif
