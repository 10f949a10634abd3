/* SPDX-License-Identifier: MIT */
/* Functions for the access rights of objects that this program makes. */
#ifndef HYPERV_WINDOWS_RIGHTS_H
#define HYPERV_WINDOWS_RIGHTS_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* Makes security attributes that give access only to the system, to administrators and to the
 * owner. Objects that are later made in a directory inherit these rights from it. The caller frees
 * the descriptor with LocalFree(). */
int rights_private(SECURITY_ATTRIBUTES *out, struct error *err);
/* Makes an instance of a byte pipe. If `first` is true, fails if an instance exists already. Only
 * the system, administrators and the owner may open the pipe, and only from this computer. With the
 * default rights every user could open a pipe for reading, and so use up its instances ("Named Pipe
 * Security and Access Rights", learn.microsoft.com, windows/win32/ipc). Returns
 * INVALID_HANDLE_VALUE with an error. */
HANDLE rights_pipe(const wchar_t *name, bool first, DWORD instances, DWORD buffer, const char *what,
		   struct error *err);

#endif
