/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_OPERATIONS_H
#define HYPERV_OPERATIONS_H

#include "handles.h"
#include "text.h"

/*
 * Asks the service to begin the call `call` with the arguments `fields`, for the operation
 * `handle`. Returns S_OK if the service has begun the call. If `system` is not NULL, the caller
 * must have counted itself in system->users.
 */
HRESULT operation_begin(HCS_OPERATION handle, HCS_OPERATION_TYPE type, struct system *system,
			const char *call, struct text *fields);

#endif
