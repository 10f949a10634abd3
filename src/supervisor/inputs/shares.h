/* SPDX-License-Identifier: MIT */
/* The shared directories of a config. */
#ifndef SUPERVISOR_SHARES_H
#define SUPERVISOR_SHARES_H

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"

/*
 * Opens each of config.shares, by the rules of store/share/rules.h; the first that may not be shared
 * is refused by field and path. fds: room for as many, each -1 before; those that are open after a
 * failure are the caller's too.
 */
int shares_open(const struct config *config, const struct backend *backend, int *fds,
		struct error *err);
/* The same and nothing stays open: for who refuses early what is opened later. */
int shares_check(const struct config *config, const struct backend *backend, struct error *err);

#endif
