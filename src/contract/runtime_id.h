/* SPDX-License-Identifier: MIT */
/* Names of workspaces: one path component of a state directory that microagent itself leaves free.
 */
#ifndef CONTRACT_RUNTIME_ID_H
#define CONTRACT_RUNTIME_ID_H

#include <stdbool.h>

#include "base/error.h"

/* bases sessions pool archive logs .locks .microagent-state */
bool runtime_id_taken(const char *id);
/* ERR_INVALID, naming it as what, for an id that is not a safe basename or is taken. */
int runtime_id_check(const char *id, const char *what, struct error *err);

#endif
