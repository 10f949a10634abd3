/* SPDX-License-Identifier: MIT */
#include "hyperv/windows/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

wchar_t *text_wide(const char *text, struct error *err)
{
	int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
	wchar_t *wide = n > 0 ? malloc((size_t)n * sizeof(*wide)) : NULL;

	if (wide && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n) > 0)
		return wide;
	free(wide);
	error_set(err, ERR_INVALID, "this text is not valid UTF-8: \"%.100s\"; correct it", text);
	return NULL;
}

char *text_narrow(const wchar_t *text, struct error *err)
{
	int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
	char *narrow = n > 0 ? malloc((size_t)n) : NULL;

	if (narrow && WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, n, NULL, NULL) > 0)
		return narrow;
	free(narrow);
	error_errno(err, ENOMEM, "text");
	return NULL;
}

wchar_t *text_wide_path(const char *path, struct error *err)
{
	autofree char *whole = NULL;

	if (asprintf(&whole, "\\\\?\\%s", path) < 0) {
		whole = NULL;
		error_errno(err, ENOMEM, "%s", path);
		return NULL;
	}
	for (char *p = whole; *p; p++)
		if (*p == '/')
			*p = '\\';
	return text_wide(whole, err);
}

static enum error_code code_of_windows(DWORD code)
{
	switch (code) {
	case ERROR_FILE_NOT_FOUND:
	case ERROR_PATH_NOT_FOUND:
	case ERROR_INVALID_DRIVE:
		return ERR_NOT_FOUND;
	case ERROR_ACCESS_DENIED:
	case ERROR_PRIVILEGE_NOT_HELD:
	case ERROR_WRITE_PROTECT:
	case WSAEACCES:
		return ERR_DENIED;
	case ERROR_SHARING_VIOLATION:
	case ERROR_LOCK_VIOLATION:
	case ERROR_ALREADY_EXISTS:
	case ERROR_FILE_EXISTS:
	case WSAEADDRINUSE:
		return ERR_CONFLICT;
	case ERROR_NOT_ENOUGH_MEMORY:
	case ERROR_OUTOFMEMORY:
	case ERROR_DISK_FULL:
	case ERROR_NO_SYSTEM_RESOURCES:
	case ERROR_PIPE_BUSY:
		return ERR_UNAVAILABLE;
	case WAIT_TIMEOUT:
	case ERROR_SEM_TIMEOUT:
	case WSAETIMEDOUT:
		return ERR_TIMEOUT;
	case ERROR_NOT_SUPPORTED:
	case WSAEAFNOSUPPORT:
		return ERR_UNSUPPORTED;
	default:
		return ERR_IO;
	}
}

/* Writes Windows' text for an error code to `out`, in English if this Windows has English texts.
 * Leaves out the full stop and newline at the end of the text. */
static void system_words(DWORD code, char *out, size_t size)
{
	const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
	const DWORD english = MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US);
	wchar_t wide[256];
	autofree char *words = NULL;

	if (FormatMessageW(flags, NULL, code, english, wide, ARRAY_SIZE(wide), NULL) > 0 ||
	    FormatMessageW(flags, NULL, code, 0, wide, ARRAY_SIZE(wide), NULL) > 0)
		words = text_narrow(wide, NULL);
	size_t len = words ? strlen(words) : 0;
	while (len > 0 && strchr("\r\n. ", words[len - 1]))
		len--;
	snprintf(out, size, "%.*s", (int)len, words ? words : "");
}

int windows_error(struct error *err, DWORD code, const char *fmt, ...)
{
	char what[512], words[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	system_words(code, words, sizeof(words));
	return error_set(err, code_of_windows(code), "%s: %s%s%lu%s", what, words,
			 *words ? " (" : "error ", code, *words ? ")" : "");
}
