/* SPDX-License-Identifier: MIT */
/* The contract document, agent-runtime.v1, made of the tables that the code runs on. */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include <jansson.h>

#include "base/error.h"

#define CONTRACT_VERSION "agent-runtime.v1"

/* support: the value of backendSupport, stolen also on failure. A new reference. */
json_t *contract_json(json_t *support, struct error *err);

#endif
