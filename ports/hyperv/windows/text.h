/* SPDX-License-Identifier: MIT */
/* Windows' texts are UTF-16 and its errors numbers; ours are UTF-8 and struct error. */
#ifndef HYPERV_WINDOWS_TEXT_H
#define HYPERV_WINDOWS_TEXT_H

#include <winsock2.h>

#include <windows.h>

#include "base/error.h"

/* malloc'd; NULL with ERR_INVALID for what is no UTF-8. */
wchar_t *text_wide(const char *text, struct error *err);
/* malloc'd; what is no UTF-16 becomes U+FFFD. */
char *text_narrow(const wchar_t *text, struct error *err);
/* An absolute path as the system takes it however long it is: with \\?\ in front. */
wchar_t *text_wide_path(const char *path, struct error *err);

/* "<fmt>: <what the system says of it>", and the code that it means. Returns -1. */
int windows_error(struct error *err, DWORD code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void handle_close(HANDLE *handle)
{
	if (*handle && *handle != INVALID_HANDLE_VALUE)
		CloseHandle(*handle);
}
/* NULL or INVALID_HANDLE_VALUE: none. */
#define autohandle __attribute__((cleanup(handle_close)))

#endif
