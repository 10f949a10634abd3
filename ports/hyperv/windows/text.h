/* SPDX-License-Identifier: MIT */
/* Converts texts and errors. Windows has texts in UTF-16 and error numbers. This program has texts
 * in UTF-8 and struct error. */
#ifndef HYPERV_WINDOWS_TEXT_H
#define HYPERV_WINDOWS_TEXT_H

#include <winsock2.h>

#include <windows.h>

#include "base/error.h"

/* Converts UTF-8 to UTF-16. The caller frees the result. Returns NULL with an error; ERR_INVALID:
 * the text is not UTF-8. */
wchar_t *text_wide(const char *text, struct error *err);
/* Converts UTF-16 to UTF-8. The caller frees the result. Bytes that are not valid UTF-16 become
 * U+FFFD. Returns NULL with an error. */
char *text_narrow(const wchar_t *text, struct error *err);
/* Converts an absolute path to UTF-16, with \\?\ in front, so that the system accepts a path of any
 * length. The caller frees the result. Returns NULL with an error. */
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
