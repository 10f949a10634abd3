/* SPDX-License-Identifier: MIT */
/* The names of workspaces. Each workspace is a directory with this name in the state directory. The
 * name must not be a name that microagent itself uses there. */
#ifndef CONTRACT_RUNTIME_ID_H
#define CONTRACT_RUNTIME_ID_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true if microagent itself uses the name in a state directory: bases sessions pool archive
 * logs .locks .microagent-state */
bool runtime_id_taken(const char *id);
/* Checks that the id is a safe basename (path_is_safe_basename()) and not used by microagent
 * itself. Otherwise fails with ERR_INVALID. `what` is the word for the id in the message. */
int runtime_id_check(const char *id, const char *what, struct error *err);

#endif
