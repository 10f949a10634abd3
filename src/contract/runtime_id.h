/* SPDX-License-Identifier: MIT */
/* Names of workspaces: one path component of a state directory that microagent itself does not
 * use. */
#ifndef CONTRACT_RUNTIME_ID_H
#define CONTRACT_RUNTIME_ID_H

#include <stdbool.h>

#include "base/error.h"

/* Returns whether microagent uses the name itself: bases sessions pool archive logs .locks
 * .microagent-state */
bool runtime_id_taken(const char *id);
/* Fails with ERR_INVALID, in which the id is called what, if the id is not a safe basename or is
 * used by microagent itself. */
int runtime_id_check(const char *id, const char *what, struct error *err);

#endif
