/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#ifdef __clang_analyzer__ /* the header wraps them for the analysis of their callers */
#undef error_set
#undef error_errno
#undef error_prefix
#undef error_copy
#endif

static const char *const code_names[] = {
	[ERR_NONE] = "none",
	[ERR_INVALID] = "invalid",
	[ERR_NOT_FOUND] = "not-found",
	[ERR_CONFLICT] = "conflict",
	[ERR_UNSUPPORTED] = "unsupported",
	[ERR_UNAVAILABLE] = "unavailable",
	[ERR_TIMEOUT] = "timeout",
	[ERR_DENIED] = "denied",
	[ERR_IO] = "io",
	[ERR_INTERNAL] = "internal",
};
static_assert(ARRAY_SIZE(code_names) == ERROR_CODE_COUNT, "every code has a name");

/*
 * A cut text must not end inside a UTF-8 sequence, or it could not be put into JSON. full is what
 * snprintf() wanted to write.
 */
static void trim_cut_text(char *text, size_t size, size_t full)
{
	size_t end, start;

	if (full < size)
		return;
	end = size - 1;
	start = end;
	while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0 || (unsigned char)text[start - 1] < 0xc0)
		return; /* ASCII at the end, or no UTF-8 at all */
	start--;
	unsigned char lead = (unsigned char)text[start];
	size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	if (end - start < need)
		text[start] = '\0';
}

static void format_message(struct error *err, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
static void format_message(struct error *err, const char *fmt, va_list args)
{
	char text[sizeof(err->msg)]; /* an argument may be err->msg itself */
	int n = vsnprintf(text, sizeof(text), fmt, args);

	if (n < 0)
		text[0] = '\0';
	else
		trim_cut_text(text, sizeof(text), (size_t)n);
	memcpy(err->msg, text, strlen(text) + 1);
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	err->code = code;
	err->errnum = 0;
	va_start(args, fmt);
	format_message(err, fmt, args);
	va_end(args);
	return -1;
}

static enum error_code code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
		return ERR_DENIED;
	case EEXIST:
	case EBUSY:
		return ERR_CONFLICT;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EAGAIN:
		return ERR_UNAVAILABLE;
	default:
		return ERR_IO;
	}
}

int error_errno(struct error *err, int errnum, const char *fmt, ...)
{
	/* Not strerror(): that one is not safe in a library used by threads. */
	const char *text = strerrordesc_np(errnum);
	va_list args;

	if (!err)
		return -1;
	err->code = code_of_errno(errnum);
	err->errnum = errnum;
	va_start(args, fmt);
	format_message(err, fmt, args);
	va_end(args);
	size_t used = strlen(err->msg), room = sizeof(err->msg) - used;
	int n = text ? snprintf(err->msg + used, room, ": %s", text)
		     : snprintf(err->msg + used, room, ": error %d", errnum);
	if (n > 0)
		trim_cut_text(err->msg, sizeof(err->msg), used + (size_t)n);
	return -1;
}

int error_copy(struct error *err, const struct error *other)
{
	if (err)
		*err = *other;
	return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list args;

	if (!err)
		return -1;
	memcpy(old, err->msg, sizeof(old));
	old[sizeof(old) - 1] = '\0';
	va_start(args, fmt);
	format_message(err, fmt, args);
	va_end(args);
	size_t used = strlen(err->msg);
	int n = snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old);
	if (n > 0)
		trim_cut_text(err->msg, sizeof(err->msg), used + (size_t)n);
	return -1;
}

const char *error_code_name(enum error_code code)
{
	if ((unsigned)code >= ERROR_CODE_COUNT)
		return code_names[ERR_INTERNAL];
	return code_names[code];
}

enum error_code error_code_from_name(const char *name)
{
	for (unsigned i = 0; name && i < ERROR_CODE_COUNT; i++)
		if (strcmp(code_names[i], name) == 0)
			return (enum error_code)i;
	return ERR_INTERNAL;
}
