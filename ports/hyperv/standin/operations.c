/* SPDX-License-Identifier: MIT */
/* The functions of computecore.dll about operations: which operations run, and how they have
 * ended. */
#include "operations.h"

#include "service.h"
#include "text.h"

HRESULT operation_begin(HCS_OPERATION handle, HCS_OPERATION_TYPE type, struct system *system,
			const char *call, struct text *fields)
{
	struct operation *operation;
	HRESULT result = S_OK;

	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_find(handle);
	if (!operation)
		result = E_HANDLE;
	else if (operation->progress == PROGRESS_PENDING)
		result = HCS_E_OPERATION_ALREADY_STARTED;
	else if (system && system->lost)
		result = HCS_E_SERVICE_DISCONNECT;
	else if (system && operation->callback &&
		 system->options & HcsEventOptionEnableOperationCallbacks)
		result = HCS_E_OPERATION_SYSTEM_CALLBACK_ALREADY_SET;
	if (SUCCEEDED(result)) {
		ResetEvent(operation->over);
		operation->progress = PROGRESS_PENDING;
		operation->type = type;
		operation->users++;
		/* Keeps the compute system's object until the operation has ended, even if the
		 * system's handle is closed before. */
		if (system)
			system->users++;
		if (operation->system)
			system_release(operation->system);
		operation->system = system;
		text_add_number(fields, "operation", operation->number);
	}
	ReleaseSRWLockExclusive(&handles_lock);
	if (FAILED(result))
		return result;
	result = service_call(call, fields, NULL);
	if (SUCCEEDED(result))
		return result;
	AcquireSRWLockExclusive(&handles_lock);
	if (operation->progress == PROGRESS_PENDING) {
		operation->progress = PROGRESS_UNUSED;
		operation_release(operation);
	}
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}

HCS_OPERATION WINAPI HcsCreateOperation(const void *context, HCS_OPERATION_COMPLETION callback)
{
	struct operation *operation;

	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_new((void *)(ULONG_PTR)context, callback);
	ReleaseSRWLockExclusive(&handles_lock);
	return (HCS_OPERATION)operation;
}

void WINAPI HcsCloseOperation(HCS_OPERATION handle)
{
	struct operation *operation;

	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_find(handle);
	if (operation) {
		operation->closed = true;
		operation_release(operation);
	}
	ReleaseSRWLockExclusive(&handles_lock);
}

static HRESULT take_result(struct operation *operation, PWSTR *document)
{
	if (operation->progress == PROGRESS_UNUSED)
		return HCS_E_OPERATION_NOT_STARTED;
	if (operation->progress == PROGRESS_PENDING)
		return HCS_E_OPERATION_PENDING;
	if (document && operation->document) {
		*document = text_copy_wide(operation->document);
		if (!*document)
			return HCS_E_OPERATION_RESULT_ALLOCATION_FAILED;
	}
	return operation->result;
}

HRESULT WINAPI HcsGetOperationResult(HCS_OPERATION handle, PWSTR *document)
{
	struct operation *operation;
	HRESULT result = E_HANDLE;

	if (document)
		*document = NULL;
	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_find(handle);
	if (operation)
		result = take_result(operation, document);
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}

HRESULT WINAPI HcsWaitForOperationResult(HCS_OPERATION handle, DWORD timeout, PWSTR *document)
{
	struct operation *operation;
	HRESULT result = E_HANDLE;

	if (document)
		*document = NULL;
	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_find(handle);
	if (operation) {
		operation->users++;
		if (operation->progress == PROGRESS_PENDING) {
			ReleaseSRWLockExclusive(&handles_lock);
			WaitForSingleObject(operation->over, timeout);
			AcquireSRWLockExclusive(&handles_lock);
		}
		result = take_result(operation, document);
		if (result == HCS_E_OPERATION_PENDING)
			result = HCS_E_OPERATION_TIMEOUT;
		operation_release(operation);
	}
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}

/* Does nothing. Microsoft documents that the real library does not implement this function
 * either. */
HRESULT WINAPI HcsCancelOperation(HCS_OPERATION handle)
{
	(void)handle;
	return E_NOTIMPL;
}

HRESULT WINAPI HcsSetOperationCallback(HCS_OPERATION handle, const void *context,
				       HCS_OPERATION_COMPLETION callback)
{
	struct operation *operation;
	HRESULT result = E_HANDLE;

	AcquireSRWLockExclusive(&handles_lock);
	operation = operation_find(handle);
	if (operation && operation->progress == PROGRESS_PENDING) {
		result = HCS_E_OPERATION_ALREADY_STARTED;
	} else if (operation) {
		operation->callback = callback;
		operation->context = (void *)(ULONG_PTR)context;
		result = S_OK;
	}
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}

void *WINAPI HcsGetOperationContext(HCS_OPERATION handle)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct operation *operation = operation_find(handle);
	void *context = operation ? operation->context : NULL;
	ReleaseSRWLockExclusive(&handles_lock);
	return context;
}

HRESULT WINAPI HcsSetOperationContext(HCS_OPERATION handle, const void *context)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct operation *operation = operation_find(handle);
	if (operation)
		operation->context = (void *)(ULONG_PTR)context;
	ReleaseSRWLockExclusive(&handles_lock);
	return operation ? S_OK : E_HANDLE;
}

HCS_SYSTEM WINAPI HcsGetComputeSystemFromOperation(HCS_OPERATION handle)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct operation *operation = operation_find(handle);
	HCS_SYSTEM system = operation ? (HCS_SYSTEM)operation->system : NULL;
	ReleaseSRWLockExclusive(&handles_lock);
	return system;
}

HCS_OPERATION_TYPE WINAPI HcsGetOperationType(HCS_OPERATION handle)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct operation *operation = operation_find(handle);
	HCS_OPERATION_TYPE type = operation ? operation->type : HcsOperationTypeNone;
	ReleaseSRWLockExclusive(&handles_lock);
	return type;
}

UINT64 WINAPI HcsGetOperationId(HCS_OPERATION handle)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct operation *operation = operation_find(handle);
	UINT64 number = operation ? operation->number : HCS_INVALID_OPERATION_ID;
	ReleaseSRWLockExclusive(&handles_lock);
	return number;
}
