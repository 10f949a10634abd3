/* SPDX-License-Identifier: MIT */
#include "hyperv/windows/rights.h"

#include <sddl.h>

#define PRIVATE L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)"

int rights_private(SECURITY_ATTRIBUTES *out, struct error *err)
{
	SECURITY_ATTRIBUTES rights = {.nLength = sizeof(rights)};

	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    PRIVATE, SDDL_REVISION_1, &rights.lpSecurityDescriptor, NULL))
		return windows_error(err, GetLastError(), "security descriptor");
	*out = rights;
	return 0;
}

HANDLE rights_pipe(const wchar_t *name, bool first, DWORD instances, DWORD buffer, const char *what,
		   struct error *err)
{
	SECURITY_ATTRIBUTES rights;
	HANDLE pipe;

	if (rights_private(&rights, err) < 0)
		return INVALID_HANDLE_VALUE;
	pipe = CreateNamedPipeW(
		name, PIPE_ACCESS_DUPLEX | (first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
		PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
		instances, buffer, buffer, 0, &rights);
	DWORD code = GetLastError();
	LocalFree(rights.lpSecurityDescriptor);
	if (pipe == INVALID_HANDLE_VALUE)
		windows_error(err, code, "%s", what);
	return pipe;
}
