/* SPDX-License-Identifier: MIT */
/*
 * The functions of computecore.dll about compute systems. These functions check handles and
 * arguments. As in Windows, the service checks documents, states and files.
 */
#include "delivery.h"
#include "operations.h"
#include "service.h"

/* Returns the compute system of the handle and counts one more user of it. Returns NULL if the
 * handle is not valid. */
static struct system *use_system(HCS_SYSTEM handle)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct system *system = system_find(handle);
	if (system)
		system->users++;
	ReleaseSRWLockExclusive(&handles_lock);
	return system;
}

static void end_use(struct system *system)
{
	AcquireSRWLockExclusive(&handles_lock);
	system_release(system);
	ReleaseSRWLockExclusive(&handles_lock);
}

static struct system *make_system(void)
{
	AcquireSRWLockExclusive(&handles_lock);
	struct system *system = system_new();
	ReleaseSRWLockExclusive(&handles_lock);
	return system;
}

HRESULT WINAPI HcsCreateComputeSystem(PCWSTR id, PCWSTR configuration, HCS_OPERATION operation,
				      const SECURITY_DESCRIPTOR *security, HCS_SYSTEM *made)
{
	struct text fields = {0};
	struct system *system;
	HRESULT result;

	if (made)
		*made = NULL;
	if (!id || !*id || !configuration || security || !made)
		return E_INVALIDARG;
	system = make_system();
	if (!system)
		return E_OUTOFMEMORY;
	text_add_number(&fields, "system", system->number);
	text_add_wide(&fields, "id", id);
	text_add_wide(&fields, "document", configuration);
	result = operation_begin(operation, HcsOperationTypeCreate, system,
				 "HcsCreateComputeSystem", &fields);
	text_free(&fields);
	if (SUCCEEDED(result))
		*made = (HCS_SYSTEM)system;
	else
		end_use(system);
	return result;
}

HRESULT WINAPI HcsOpenComputeSystem(PCWSTR id, DWORD access, HCS_SYSTEM *opened)
{
	struct text fields = {0};
	struct system *system;
	HRESULT result;

	if (opened)
		*opened = NULL;
	if (!id || !*id || access != GENERIC_ALL || !opened)
		return E_INVALIDARG;
	system = make_system();
	if (!system)
		return E_OUTOFMEMORY;
	text_add_number(&fields, "system", system->number);
	text_add_wide(&fields, "id", id);
	result = service_call("HcsOpenComputeSystem", &fields, NULL);
	text_free(&fields);
	if (SUCCEEDED(result))
		*opened = (HCS_SYSTEM)system;
	else
		end_use(system);
	return result;
}

/* Closes the handle. When this function has returned, no callback of the handle runs any more or
 * starts later. */
void WINAPI HcsCloseComputeSystem(HCS_SYSTEM handle)
{
	struct text fields = {0};
	struct system *system;
	bool lost = true;

	AcquireSRWLockExclusive(&handles_lock);
	system = system_find(handle);
	if (system) {
		system->closed = true;
		lost = system->lost;
		delivery_drain(system);
	}
	ReleaseSRWLockExclusive(&handles_lock);
	if (!system)
		return;
	text_add_number(&fields, "system", system->number);
	if (!lost)
		service_call("HcsCloseComputeSystem", &fields, NULL);
	text_free(&fields);
	end_use(system);
}

/* Begins a call whose parameters are a compute system, an operation and a document. */
static HRESULT begin_on_system(HCS_SYSTEM handle, HCS_OPERATION operation, HCS_OPERATION_TYPE type,
			       const char *call, PCWSTR document)
{
	struct system *system = use_system(handle);
	struct text fields = {0};
	HRESULT result;

	if (!system)
		return E_HANDLE;
	text_add_number(&fields, "system", system->number);
	text_add_wide(&fields, "document", document);
	result = operation_begin(operation, type, system, call, &fields);
	text_free(&fields);
	end_use(system);
	return result;
}

HRESULT WINAPI HcsStartComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options)
{
	if (options)
		return E_INVALIDARG;
	return begin_on_system(system, operation, HcsOperationTypeStart, "HcsStartComputeSystem",
			       NULL);
}

HRESULT WINAPI HcsShutDownComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options)
{
	return begin_on_system(system, operation, HcsOperationTypeShutdown,
			       "HcsShutDownComputeSystem", options);
}

HRESULT WINAPI HcsTerminateComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options)
{
	if (options)
		return E_INVALIDARG;
	return begin_on_system(system, operation, HcsOperationTypeTerminate,
			       "HcsTerminateComputeSystem", NULL);
}

HRESULT WINAPI HcsPauseComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options)
{
	return begin_on_system(system, operation, HcsOperationTypePause, "HcsPauseComputeSystem",
			       options);
}

HRESULT WINAPI HcsResumeComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options)
{
	if (options)
		return E_INVALIDARG;
	return begin_on_system(system, operation, HcsOperationTypeResume, "HcsResumeComputeSystem",
			       NULL);
}

HRESULT WINAPI HcsGetComputeSystemProperties(HCS_SYSTEM system, HCS_OPERATION operation,
					     PCWSTR query)
{
	return begin_on_system(system, operation, HcsOperationTypeGetProperties,
			       "HcsGetComputeSystemProperties", query);
}

HRESULT WINAPI HcsModifyComputeSystem(HCS_SYSTEM system, HCS_OPERATION operation,
				      PCWSTR configuration, HANDLE identity)
{
	if (!configuration || identity)
		return E_INVALIDARG;
	return begin_on_system(system, operation, HcsOperationTypeModify, "HcsModifyComputeSystem",
			       configuration);
}

HRESULT WINAPI HcsEnumerateComputeSystems(PCWSTR query, HCS_OPERATION operation)
{
	struct text fields = {0};
	HRESULT result;

	text_add_wide(&fields, "document", query);
	result = operation_begin(operation, HcsOperationTypeEnumerate, NULL,
				 "HcsEnumerateComputeSystems", &fields);
	text_free(&fields);
	return result;
}

HRESULT WINAPI HcsSetComputeSystemCallback(HCS_SYSTEM handle, HCS_EVENT_OPTIONS options,
					   const void *context, HCS_EVENT_CALLBACK callback)
{
	struct system *system;
	HRESULT result = S_OK;

	if (!callback || options & ~(HCS_EVENT_OPTIONS)HcsEventOptionEnableOperationCallbacks)
		return E_INVALIDARG;
	AcquireSRWLockExclusive(&handles_lock);
	system = system_find(handle);
	if (!system) {
		result = E_HANDLE;
	} else if (system->callback) {
		result = HCS_E_OPERATION_SYSTEM_CALLBACK_ALREADY_SET;
	} else {
		system->callback = callback;
		system->context = (void *)(ULONG_PTR)context;
		system->options = options;
	}
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}

HRESULT WINAPI HcsWaitForComputeSystemExit(HCS_SYSTEM handle, DWORD timeout, PWSTR *status)
{
	struct system *system = use_system(handle);
	HRESULT result = S_OK;

	if (status)
		*status = NULL;
	if (!system)
		return E_HANDLE;
	if (WaitForSingleObject(system->exited, timeout) != WAIT_OBJECT_0)
		result = HCS_E_OPERATION_TIMEOUT;
	AcquireSRWLockExclusive(&handles_lock);
	if (SUCCEEDED(result) && status && system->exit_status)
		*status = text_copy_wide(system->exit_status);
	system_release(system);
	ReleaseSRWLockExclusive(&handles_lock);
	return result;
}
