/* SPDX-License-Identifier: MIT */
/*
 * Protects workspace.json and session.json by digests. These records decide which disks,
 * directories and rights a machine gets. A live supervisor that was taken over can write all files
 * of the workspace. So when a command writes a record, it also writes the record's digest into
 * <stateDir>/.locks/, where the live supervisor cannot write. Before a program gives a machine a
 * disk, a directory or another right because of a record, it compares the record with this digest.
 *
 * While a record is being replaced, two digests are accepted. The writer first announces the digest
 * of the next record, and then writes the record. Last, the writer settles on the new record: from
 * then on, only the digest of the new record is accepted. If the writer is killed between these
 * steps, the file has the old or the new record, and either is accepted. A record without a digest
 * was made by an earlier version of microagent, or was copied manually. Such a record is accepted
 * as it is, and a start settles on it.
 *
 * A digest is computed from the record's value and not from its bytes, so white space and the order
 * of keys do not count. In session.json, the members that the live supervisor changes by itself do
 * not count either: the quota and the session's end.
 */
#ifndef STORE_RECORD_DIGEST_H
#define STORE_RECORD_DIGEST_H

#include <jansson.h>

#include "base/error.h"
#include "store/store.h"

/* Announces the value `next`: from now on, it is accepted as the contents of `file`. If the current
 * contents are accepted, they stay accepted too. `file` is "workspace.json" or "session.json". The
 * caller must hold the command lock or the lock of record_change_lock(), or be making the
 * workspace. */
int record_digest_announce(const struct workspace *ws, const char *file, const json_t *next,
			   struct error *err);
/* Settles on the value `now`: from now on, only this value is accepted as the contents of `file`.
 * Writes nothing if this is already so. */
int record_digest_settle(const struct workspace *ws, const char *file, const json_t *now,
			 struct error *err);
/* Announces the value, writes it to the file, and settles on it. Afterwards only this value is
 * accepted. */
int workspace_write_accepted(const struct workspace *ws, const char *file, const json_t *value,
			     enum store_sync sync, struct error *err);
/* Reads a record as workspace_read() does. ERR_CONFLICT: no command has recorded this value; the
 * message names the file. */
json_t *workspace_read_accepted(const struct workspace *ws, const char *file, struct error *err);

/* Takes the lock for a change of a record that a live supervisor makes for a command. The command
 * takes this lock before it announces the record, and releases it after it has settled on the
 * record. Waits for the lock until the deadline (monotonic time in nanoseconds). Returns a
 * descriptor of the lock, which the caller closes. */
int record_change_lock(const struct workspace *ws, uint64_t deadline_ns, struct error *err);

#endif
