/* SPDX-License-Identifier: MIT */
/* The shared directories of a config, as far as they can be looked at before a VM has them. */
#ifndef SUPERVISOR_SHARES_H
#define SUPERVISOR_SHARES_H

#include "base/error.h"
#include "contract/request.h"

/*
 * Refuses the first of config.shares that is no directory of ours, by field and path: what is not
 * ours the agent could not use, since nobody else's id means anything in a share. The state
 * directory is never shared, nor what holds it or is in it: a guest that could write there would be
 * its own supervisor.
 */
int shares_check(const struct config *config, struct error *err);

#endif
