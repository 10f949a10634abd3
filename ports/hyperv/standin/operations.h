/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_OPERATIONS_H
#define HYPERV_OPERATIONS_H

#include "handles.h"
#include "text.h"

/*
 * Lets the service begin CALL with FIELDS, tracked by the operation. Returns S_OK if it has begun.
 * system may be NULL, and is used by the caller meanwhile.
 */
HRESULT operation_begin(HCS_OPERATION handle, HCS_OPERATION_TYPE type, struct system *system,
			const char *call, struct text *fields);

#endif
