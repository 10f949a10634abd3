/* SPDX-License-Identifier: MIT */
/* Who may have what we make. */
#ifndef HYPERV_WINDOWS_RIGHTS_H
#define HYPERV_WINDOWS_RIGHTS_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* The system, administrators and the owner, and so for what is made below a directory. The
 * descriptor is the caller's to LocalFree(). */
int rights_private(SECURITY_ATTRIBUTES *out, struct error *err);
/* A pipe's first or further instance, for these alone and no other computer, of bytes; its default
 * would let everybody open it to read, and so take up its instances ("Named Pipe Security and
 * Access Rights", learn.microsoft.com, windows/win32/ipc). INVALID_HANDLE_VALUE: err. */
HANDLE rights_pipe(const wchar_t *name, bool first, DWORD instances, DWORD buffer, const char *what,
		   struct error *err);

#endif
