/* SPDX-License-Identifier: MIT */
/* Functions for the access rights of objects that this program creates. */
#ifndef HYPERV_WINDOWS_RIGHTS_H
#define HYPERV_WINDOWS_RIGHTS_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* Makes security attributes that give access only to Windows itself, to administrators and to the
 * owner. Objects that are later created in a directory with these attributes inherit them. The
 * caller frees out->lpSecurityDescriptor with LocalFree(). */
int rights_private(SECURITY_ATTRIBUTES *out, struct error *err);
/* Creates an instance of a named pipe for bytes. If `first` is true, fails if the pipe has an
 * instance already. Only Windows itself, administrators and the owner may open the pipe, and only
 * from this computer. With the default rights every user could open the pipe for reading, and so
 * use all of its instances ("Named Pipe Security and Access Rights", learn.microsoft.com,
 * windows/win32/ipc). Returns INVALID_HANDLE_VALUE with err set on failure. */
HANDLE rights_pipe(const wchar_t *name, bool first, DWORD instances, DWORD buffer, const char *what,
		   struct error *err);

#endif
