/* SPDX-License-Identifier: MIT */
/* The shared directories of a config. */
#ifndef SUPERVISOR_SHARES_H
#define SUPERVISOR_SHARES_H

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"

/*
 * Opens each directory of config.shares, by the rules of store/share/rules.h. The error names the
 * field and the path of the first directory that may not be shared. `fds` has room for a descriptor
 * of each share, and each is -1 before the call. The caller closes the descriptors, also after an
 * error.
 */
int shares_open(const struct config *config, const struct backend *backend, int *fds,
		struct error *err);
/* Checks the directories as shares_open() does, and leaves nothing open. A command calls this to
 * refuse early the directories that its live supervisor would refuse later. */
int shares_check(const struct config *config, const struct backend *backend, struct error *err);

#endif
