/* SPDX-License-Identifier: MIT */
/* The contract document, agent-runtime.v1. It is made from the tables that the code uses. */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include <jansson.h>

#include "base/error.h"

#define CONTRACT_VERSION "agent-runtime.v1"

/* Returns the contract document as a new reference. `support` becomes the member backendSupport of
 * the document. The function takes over the reference to `support`, also on failure. */
json_t *contract_json(json_t *support, struct error *err);

#endif
