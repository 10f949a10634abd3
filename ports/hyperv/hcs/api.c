/* SPDX-License-Identifier: MIT */
#include "hyperv/hcs/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hyperv/windows/text.h"

#define HCS_DLL L"computecore.dll"

static HMODULE loaded_dll;
static struct hcs_api loaded;

static int missing_function(const char *name, struct error *err)
{
	return error_set(
		err, ERR_UNAVAILABLE,
		"Windows' computecore.dll has no %s: use Windows 10 1809, Server 2019 or newer",
		name);
}

static int find_functions(HMODULE dll, struct hcs_api *out, struct error *err)
{
	struct hcs_api found;
	FARPROC function;

#define HCS_FIND(name)                               \
	function = GetProcAddress(dll, #name);       \
	if (!function)                               \
		return missing_function(#name, err); \
	memcpy(&found.name, &function, sizeof(function));
	HCS_FUNCTIONS(HCS_FIND)
#undef HCS_FIND
	*out = found;
	return 0;
}

/* Loads the library only from Windows' system directory. A file of this name in the program's
 * directory or in the current directory could come from an attacker. */
const struct hcs_api *hcs_api(struct error *err)
{
	HMODULE dll;

	if (loaded_dll)
		return &loaded;
	dll = LoadLibraryExW(HCS_DLL, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	if (!dll) {
		DWORD code = GetLastError();

		windows_error(err, code, "computecore.dll, by which Hyper-V is spoken to");
		err->code = ERR_UNAVAILABLE;
		return NULL;
	}
	if (find_functions(dll, &loaded, err) < 0) {
		FreeLibrary(dll);
		return NULL;
	}
	loaded_dll = dll;
	return &loaded;
}

char *hcs_api_path(struct error *err)
{
	wchar_t path[MAX_PATH];

	if (!hcs_api(err))
		return NULL;
	if (GetModuleFileNameW(loaded_dll, path, MAX_PATH) > 0)
		return text_narrow(path, err);
	windows_error(err, GetLastError(), "computecore.dll");
	return NULL;
}
