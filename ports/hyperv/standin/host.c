/* SPDX-License-Identifier: MIT */
/* The functions of computecore.dll about the host: access rights of files, and the properties of
 * the service. */
#include "service.h"

enum { PATH_UNITS = 4096 };

static HRESULT call_on_file(const char *call, PCWSTR id, PCWSTR path)
{
	struct text fields = {0};
	WCHAR full[PATH_UNITS];
	HRESULT result;

	if (!path || !*path)
		return E_INVALIDARG;
	if (!GetFullPathNameW(path, PATH_UNITS, full, NULL))
		return HRESULT_FROM_WIN32(GetLastError());
	text_add_wide(&fields, "path", full);
	text_add_wide(&fields, "id", id);
	result = service_call(call, &fields, NULL);
	text_free(&fields);
	return result;
}

HRESULT WINAPI HcsGrantVmAccess(PCWSTR id, PCWSTR path)
{
	return id && *id ? call_on_file("HcsGrantVmAccess", id, path) : E_INVALIDARG;
}

HRESULT WINAPI HcsRevokeVmAccess(PCWSTR id, PCWSTR path)
{
	return id && *id ? call_on_file("HcsRevokeVmAccess", id, path) : E_INVALIDARG;
}

HRESULT WINAPI HcsGrantVmGroupAccess(PCWSTR path)
{
	return call_on_file("HcsGrantVmGroupAccess", NULL, path);
}

HRESULT WINAPI HcsRevokeVmGroupAccess(PCWSTR path)
{
	return call_on_file("HcsRevokeVmGroupAccess", NULL, path);
}

HRESULT WINAPI HcsGetServiceProperties(PCWSTR query, PWSTR *properties)
{
	struct text fields = {0};
	HRESULT result;

	if (!properties)
		return E_INVALIDARG;
	text_add_wide(&fields, "document", query);
	result = service_call("HcsGetServiceProperties", &fields, properties);
	text_free(&fields);
	return result;
}
