/* SPDX-License-Identifier: MIT */
/* Converts texts and errors. Windows uses UTF-16 and error numbers. This program uses UTF-8 and
 * struct error. */
#ifndef HYPERV_WINDOWS_TEXT_H
#define HYPERV_WINDOWS_TEXT_H

#include <winsock2.h>

#include <windows.h>

#include "base/error.h"

/* Converts UTF-8 to UTF-16. The caller frees the result. Returns NULL with err set on failure.
 * ERR_INVALID means that the text is not UTF-8. */
wchar_t *text_wide(const char *text, struct error *err);
/* Converts UTF-16 to UTF-8. The caller frees the result. Units that are not valid UTF-16 become
 * U+FFFD. Returns NULL with err set on failure. */
char *text_narrow(const wchar_t *text, struct error *err);
/* Converts an absolute path to UTF-16 and puts \\?\ before it, so that Windows accepts a path of
 * any length. The caller frees the result. Returns NULL with err set on failure. */
wchar_t *text_wide_path(const char *path, struct error *err);

/* Sets `err` to the message "<fmt>: <Windows' text for the code>", and to this project's error code
 * for `code`. Returns -1. */
int windows_error(struct error *err, DWORD code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void handle_close(HANDLE *handle)
{
	if (*handle && *handle != INVALID_HANDLE_VALUE)
		CloseHandle(*handle);
}
/* Closes the handle variable at the end of its scope, unless its value is NULL or
 * INVALID_HANDLE_VALUE. */
#define autohandle __attribute__((cleanup(handle_close)))

#endif
