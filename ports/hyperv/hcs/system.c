/* SPDX-License-Identifier: MIT */
#include "hyperv/hcs/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/hcs/api.h"
#include "hyperv/machine/document.h"
#include "hyperv/machine/hresult.h"
#include "hyperv/windows/text.h"

#define DOCUMENT_BYTES (1u << 20)
/* The value of the macro GENERIC_ALL, which linters report as an error. */
#define ALL_RIGHTS UINT32_C(0x10000000)

struct hcs_system {
	const struct hcs_api *api;
	HCS_SYSTEM handle;
	hcs_exited_fn *exited;
	void *data;
	volatile LONG told;
};

/* Parses a JSON document of an answer or event of HCS. Returns NULL if `document` is "" or NULL.
 * The caller releases the result. */
static json_t *load_wide(const wchar_t *document)
{
	autofree char *text = document ? text_narrow(document, NULL) : NULL;

	if (!text || !*text || strlen(text) > DOCUMENT_BYTES)
		return NULL;
	return json_load_strict(text, strlen(text), NULL);
}

/* --- operations ---------------------------------------------------------------------------------
 */

static DWORD operation_ms(void)
{
	return (DWORD)limit_get(LIMIT_HCS_MS);
}

/* Sets `err` from a ResultError of the HCS schema. Returns -1. */
static int operation_error(HRESULT code, const char *what, const json_t *result, struct error *err)
{
	const json_t *events = json_object_get(result, "ErrorEvents");
	const char *said = json_text(json_array_get(events, 0), "Message", NULL);

	return hresult_error((uint32_t)code, what,
			     said ? said : json_text(result, "ErrorMessage", NULL), err);
}

/* Waits for the end of an operation, and closes the operation, even after an error. `begun` is the
 * return value of the call that has started the operation. Sets *result to the operation's result
 * document, which the caller releases, or to NULL. `result` may be NULL. */
static int operation_end(const struct hcs_api *api, HCS_OPERATION operation, HRESULT begun,
			 const char *what, json_t **result, struct error *err)
{
	wchar_t *document = NULL;
	HRESULT code = begun;

	if (SUCCEEDED(begun) || (uint32_t)begun == HCS_OPERATION_PENDING)
		code = api->HcsWaitForOperationResult(operation, operation_ms(), &document);
	api->HcsCloseOperation(operation);
	json_auto_t *loaded = load_wide(document);
	LocalFree(document);
	if (FAILED(code))
		return operation_error(code, what, loaded, err);
	if (result)
		*result = steal_ptr(&loaded);
	return 0;
}

static HCS_OPERATION operation_begin(const struct hcs_api *api, struct error *err)
{
	HCS_OPERATION operation = api->HcsCreateOperation(NULL, NULL);

	if (!operation)
		error_set(err, ERR_UNAVAILABLE, "HcsCreateOperation: it failed");
	return operation;
}

/* --- the end of a machine -----------------------------------------------------------------------
 */

static void tell_exited(struct hcs_system *system, const char *exit_type)
{
	if (system->exited && InterlockedExchange(&system->told, 1) == 0)
		system->exited(system->data, exit_type);
}

static void CALLBACK on_system_event(HCS_EVENT *event, void *context)
{
	json_auto_t *data = load_wide(event->EventData);

	if (event->Type == HcsEventSystemExited)
		tell_exited(context, json_text(data, "ExitType", ""));
	else if (event->Type == HcsEventServiceDisconnect)
		tell_exited(context, HCS_GONE);
}

/* --- a machine ----------------------------------------------------------------------------------
 */

void hcs_system_close(struct hcs_system *system)
{
	if (!system)
		return;
	if (system->handle)
		system->api->HcsCloseComputeSystem(system->handle);
	free(system);
}

static struct hcs_system *new_system(hcs_exited_fn *exited, void *data, struct error *err)
{
	const struct hcs_api *api = hcs_api(err);
	struct hcs_system *system = api ? calloc(1, sizeof(*system)) : NULL;

	if (system)
		*system = (struct hcs_system){.api = api, .exited = exited, .data = data};
	else if (api)
		error_errno(err, ENOMEM, "memory");
	return system;
}

static int create_system(struct hcs_system *system, const wchar_t *id, const wchar_t *document,
			 struct error *err)
{
	const struct hcs_api *api = system->api;
	HCS_OPERATION operation = operation_begin(api, err);
	HRESULT code;

	if (!operation)
		return -1;
	code = api->HcsCreateComputeSystem(id, document, operation, NULL, &system->handle);
	if (operation_end(api, operation, code, "HcsCreateComputeSystem", NULL, err) < 0)
		return -1;
	code = api->HcsSetComputeSystemCallback(system->handle, HcsEventOptionNone, system,
						on_system_event);
	return FAILED(code)
		       ? hresult_error((uint32_t)code, "HcsSetComputeSystemCallback", NULL, err)
		       : 0;
}

struct hcs_system *hcs_system_create(const char *id, const json_t *document, hcs_exited_fn *exited,
				     void *data, struct error *err)
{
	autofree char *line = json_line(document, err);
	autofree wchar_t *wide = line ? text_wide(line, err) : NULL;
	autofree wchar_t *wide_id = text_wide(id, err);
	struct hcs_system *system = wide && wide_id ? new_system(exited, data, err) : NULL;

	if (!system || create_system(system, wide_id, wide, err) == 0)
		return system;
	hcs_system_close(system);
	return NULL;
}

/* The type of HCS functions whose parameters are a machine, an operation, and options. The options
 * must be empty. */
typedef HRESULT WINAPI plain_call(HCS_SYSTEM system, HCS_OPERATION operation, PCWSTR options);

static int call_system(struct hcs_system *system, plain_call *call, const char *what,
		       json_t **result, struct error *err)
{
	HCS_OPERATION operation = operation_begin(system->api, err);

	if (!operation)
		return -1;
	return operation_end(system->api, operation, call(system->handle, operation, NULL), what,
			     result, err);
}

int hcs_system_start(struct hcs_system *system, struct error *err)
{
	return call_system(system, system->api->HcsStartComputeSystem, "HcsStartComputeSystem",
			   NULL, err);
}

int hcs_system_shut_down(struct hcs_system *system, struct error *err)
{
	return call_system(system, system->api->HcsShutDownComputeSystem,
			   "HcsShutDownComputeSystem", NULL, err);
}

int hcs_system_terminate(struct hcs_system *system, struct error *err)
{
	HCS_OPERATION operation = operation_begin(system->api, err);
	HRESULT code;

	if (!operation)
		return -1;
	code = system->api->HcsTerminateComputeSystem(system->handle, operation, NULL);
	if (SUCCEEDED(code) || (uint32_t)code == HCS_OPERATION_PENDING)
		code = system->api->HcsWaitForOperationResult(operation, operation_ms(), NULL);
	system->api->HcsCloseOperation(operation);
	if (SUCCEEDED(code) || (uint32_t)code == HCS_SYSTEM_ALREADY_STOPPED ||
	    (uint32_t)code == HCS_SYSTEM_NOT_FOUND)
		return 0;
	return hresult_error((uint32_t)code, "HcsTerminateComputeSystem", NULL, err);
}

void hcs_end_leftover(const char *id)
{
	struct error ignored;
	autofree wchar_t *wide_id = text_wide(id, &ignored);
	struct hcs_system *system = wide_id ? new_system(NULL, NULL, &ignored) : NULL;

	if (!system)
		return;
	if (SUCCEEDED(system->api->HcsOpenComputeSystem(wide_id, ALL_RIGHTS, &system->handle)))
		(void)hcs_system_terminate(system, &ignored);
	else
		system->handle = NULL;
	hcs_system_close(system);
}

int hcs_system_runtime_id(struct hcs_system *system, struct guid *out, struct error *err)
{
	json_t *loaded = NULL;

	if (call_system(system, system->api->HcsGetComputeSystemProperties,
			"HcsGetComputeSystemProperties", &loaded, err) < 0)
		return -1;
	json_auto_t *properties = loaded;
	if (guid_parse(json_text(properties, "RuntimeId", ""), out))
		return 0;
	return error_set(
		err, ERR_IO,
		"the machine cannot be reached by sockets, because HCS does not tell its RuntimeId: this is a bug of Windows");
}

int hcs_grant_access(const char *id, const char *path, struct error *err)
{
	const struct hcs_api *api = hcs_api(err);
	autofree wchar_t *wide_id = text_wide(id, err);
	autofree wchar_t *wide = text_wide(path, err);
	HRESULT code;

	if (!api || !wide_id || !wide)
		return -1;
	code = api->HcsGrantVmAccess(wide_id, wide);
	return FAILED(code) ? hresult_error((uint32_t)code, "HcsGrantVmAccess", path, err) : 0;
}

int hcs_probe(struct error *err)
{
	const struct hcs_api *api = hcs_api(err);
	HCS_OPERATION operation = api ? operation_begin(api, err) : NULL;

	if (!operation)
		return -1;
	return operation_end(
		api, operation,
		api->HcsEnumerateComputeSystems(L"{\"Owners\":[\"" HCS_OWNER "\"]}", operation),
		"HcsEnumerateComputeSystems", NULL, err);
}
