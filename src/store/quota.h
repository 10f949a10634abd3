/* SPDX-License-Identifier: MIT */
/*
 * The quota of a session's disk: how many bytes of the host's disk its clone of the base may have for
 * itself, as session.json says it, and how many it has.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* 0: the workspace is no session, or one of a time when there were no quotas. */
int quota_read(const struct workspace *ws, uint64_t *bytes, struct error *err);
/* For who holds the lease, or the command lock where nobody does. ERR_NOT_FOUND: it is no session. */
int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err);

/* What a file has allocated and shares with no other. It takes a time that grows with the number of
 * its extents where the file system shares blocks between files, and no time elsewhere. */
int quota_grown(int fd, uint64_t *bytes, struct error *err);

#endif
