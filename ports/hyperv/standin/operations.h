/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_OPERATIONS_H
#define HYPERV_OPERATIONS_H

#include "handles.h"
#include "text.h"

/*
 * Asks the service to begin CALL with FIELDS, for the operation `handle`. Returns S_OK if the
 * service has begun the call. `system` may be NULL; the caller has counted itself in
 * system->users.
 */
HRESULT operation_begin(HCS_OPERATION handle, HCS_OPERATION_TYPE type, struct system *system,
			const char *call, struct text *fields);

#endif
