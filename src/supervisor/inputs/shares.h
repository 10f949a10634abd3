/* SPDX-License-Identifier: MIT */
/* Opens and checks the shared directories of a config. */
#ifndef SUPERVISOR_SHARES_H
#define SUPERVISOR_SHARES_H

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"

/*
 * Opens each directory of config.shares, by the rules of store/share/rules.h. If a directory may
 * not be shared, the error names the field and the path of the first such directory. `fds` has room
 * for one descriptor of each share. Each of its entries must be -1 before the call. The caller
 * closes the descriptors, even after an error.
 */
int shares_open(const struct config *config, const struct backend *backend, int *fds,
		struct error *err);
/* Checks the directories as shares_open() does, and closes them again. A command calls this
 * function early, so that it refuses a directory before it starts a live supervisor that would
 * refuse it. */
int shares_check(const struct config *config, const struct backend *backend, struct error *err);

#endif
