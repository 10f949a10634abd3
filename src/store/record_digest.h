/* SPDX-License-Identifier: MIT */
/*
 * Records of a workspace that decide what a machine is given, kept from being changed by a live
 * supervisor that was taken over. The live supervisor can write all files of the workspace. So the
 * digest of what a command recorded lies beside the command lock (<stateDir>/.locks/), where the
 * live supervisor cannot write, and whoever gives a machine something by such a record compares.
 *
 * Two digests are accepted while a record is being replaced: whoever writes announces the next
 * record's digest first, then writes the record, then settles on it. Killed in between, it leaves a
 * record that is accepted. A record without a digest is of an earlier version, or was copied by
 * hand, and is accepted as it is; start settles on it.
 *
 * A digest is of the record's value and not of its bytes, so white space and the order of keys do
 * not count. In session.json neither does what the live supervisor records by itself: the quota and
 * the session's end.
 */
#ifndef STORE_RECORD_DIGEST_H
#define STORE_RECORD_DIGEST_H

#include <jansson.h>

#include "base/error.h"
#include "store/store.h"

/* file: "workspace.json" or "session.json". Accepts next from here on, and still what is there now,
 * if that was accepted. Who calls it has the command lock, or record_change_lock(), or is making
 * the workspace. */
int record_digest_announce(const struct workspace *ws, const char *file, const json_t *next,
			   struct error *err);
/* Accepts nothing but now. Writes nothing where that is so already. */
int record_digest_settle(const struct workspace *ws, const char *file, const json_t *now,
			 struct error *err);
/* Announced, written, settled. */
int workspace_write_accepted(const struct workspace *ws, const char *file, const json_t *value,
			     enum store_sync sync, struct error *err);
/* workspace_read(); ERR_CONFLICT names the file where no command has recorded that. */
json_t *workspace_read_accepted(const struct workspace *ws, const char *file, struct error *err);

/* Of whoever has a live supervisor change workspace.json: held from before the record is announced
 * until it is settled. Waits until the deadline (monotonic). Returns a descriptor to close. */
int record_change_lock(const struct workspace *ws, uint64_t deadline_ns, struct error *err);

#endif
