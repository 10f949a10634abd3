/* SPDX-License-Identifier: MIT */
/* The shared directories of a config. */
#ifndef SUPERVISOR_SHARES_H
#define SUPERVISOR_SHARES_H

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"

/*
 * Opens each directory of config.shares, by the rules of store/share/rules.h. The error names field
 * and path of the first one that may not be shared. fds has room for as many descriptors, each -1
 * before. The caller also closes those that are open after a failure.
 */
int shares_open(const struct config *config, const struct backend *backend, int *fds,
		struct error *err);
/* Checks the directories as shares_open() does, and leaves nothing open. For a caller that refuses
 * early what is opened later. */
int shares_check(const struct config *config, const struct backend *backend, struct error *err);

#endif
