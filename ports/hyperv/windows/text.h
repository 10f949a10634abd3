/* SPDX-License-Identifier: MIT */
/* Conversions of texts and errors. Windows has UTF-16 texts and error numbers; this program has
 * UTF-8 and struct error. */
#ifndef HYPERV_WINDOWS_TEXT_H
#define HYPERV_WINDOWS_TEXT_H

#include <winsock2.h>

#include <windows.h>

#include "base/error.h"

/* Converts UTF-8 to UTF-16. The result is malloc'd; NULL with ERR_INVALID if the text is not
 * UTF-8. */
wchar_t *text_wide(const char *text, struct error *err);
/* Converts UTF-16 to UTF-8. The result is malloc'd. A part that is not UTF-16 becomes U+FFFD. */
char *text_narrow(const wchar_t *text, struct error *err);
/* Converts an absolute path to UTF-16 with \\?\ in front, so that the system accepts it at any
 * length. The result is malloc'd. */
wchar_t *text_wide_path(const char *path, struct error *err);

/* Sets `err` to "<fmt>: <the system's text for the code>", with the error code for it. Returns
 * -1. */
int windows_error(struct error *err, DWORD code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void handle_close(HANDLE *handle)
{
	if (*handle && *handle != INVALID_HANDLE_VALUE)
		CloseHandle(*handle);
}
/* Closes the handle at the end of the scope, unless it is NULL or INVALID_HANDLE_VALUE. */
#define autohandle __attribute__((cleanup(handle_close)))

#endif
