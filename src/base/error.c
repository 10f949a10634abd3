/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/platform/system.h"

/* The header replaces the names of these functions by macros when clang's analyzer reads a file.
 * Here the functions themselves are defined, so the macros are removed. */
#ifdef __clang_analyzer__
#undef error_set
#undef error_errno
#undef error_prefix
#undef error_copy
#undef error_reason
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

static const char *const reason_names[] = {
	[REASON_NONE] = "none",
	[REASON_NO_WORKSPACE] = "no-workspace",
	[REASON_WORKSPACE_EXISTS] = "workspace-exists",
	[REASON_WORKSPACE_ALIVE] = "workspace-alive",
	[REASON_WORKSPACE_DOWN] = "workspace-down",
	[REASON_WORKSPACE_ENDED] = "workspace-ended",
	[REASON_WORKSPACE_LOST] = "workspace-lost",
	[REASON_WORKSPACE_QUARANTINED] = "workspace-quarantined",
	[REASON_WORKSPACE_DAMAGED] = "workspace-damaged",
	[REASON_NOT_AS_PREPARED] = "not-as-prepared",
	[REASON_GUEST_OLD] = "guest-old",
	[REASON_NO_SUCH_OUTPUT] = "no-such-output",
	[REASON_ROOT_IN_MEMORY] = "root-in-memory",
	[REASON_ROOT_READ_ONLY] = "root-read-only",
	[REASON_ROOT_MISSING] = "root-missing",
	[REASON_DISK_TAKEN] = "disk-taken",
	[REASON_STATE_DIR_REFUSED] = "state-dir-refused",
	[REASON_NO_SESSION] = "no-session",
	[REASON_SESSION_DOWN] = "session-down",
	[REASON_SESSION_LOST] = "session-lost",
	[REASON_SESSION_QUARANTINED] = "session-quarantined",
	[REASON_SESSION_ENDING] = "session-ending",
	[REASON_SESSION_UNFINISHED] = "session-unfinished",
	[REASON_SESSION_OVER] = "session-over",
	[REASON_SESSION_AT_QUOTA] = "session-at-quota",
	[REASON_SESSION_WITHOUT_SHARE] = "session-without-share",
	[REASON_SESSION_WITHOUT_PORT] = "session-without-port",
	[REASON_SESSION_COLD] = "session-cold",
	[REASON_NO_SNAPSHOT] = "no-snapshot",
	[REASON_NO_AUDIT_LOG] = "no-audit-log",
	[REASON_NO_BASE] = "no-base",
	[REASON_BASE_DAMAGED] = "base-damaged",
	[REASON_BASE_VERSIONLESS] = "base-versionless",
	[REASON_BASE_OF_SESSION] = "base-of-session",
	[REASON_BASE_OF_POOL] = "base-of-pool",
	[REASON_NO_TEMPLATE] = "no-template",
	[REASON_NO_POOL] = "no-pool",
	[REASON_POOL_DAMAGED] = "pool-damaged",
	[REASON_POOL_VERSIONLESS] = "pool-versionless",
	[REASON_POOL_OF_NONE] = "pool-of-none",
	[REASON_POOL_GIVEN_UP] = "pool-given-up",
	[REASON_POOL_UNATTENDED] = "pool-unattended",
	[REASON_NO_KERNEL] = "no-kernel",
	[REASON_NOT_A_KERNEL] = "not-a-kernel",
	[REASON_KERNEL_PACKED] = "kernel-packed",
	[REASON_KERNEL_MISSING] = "kernel-missing",
	[REASON_NO_INITRD] = "no-initrd",
	[REASON_INITRD_MISSING] = "initrd-missing",
	[REASON_INITRD_OLD] = "initrd-old",
	[REASON_INITRD_OTHER] = "initrd-other",
	[REASON_NO_IMAGE] = "no-image",
	[REASON_NOT_AN_IMAGE] = "not-an-image",
	[REASON_IMAGE_TOO_SMALL] = "image-too-small",
	[REASON_NO_KVM] = "no-kvm",
	[REASON_SHARE_OF_KEYS] = "share-of-keys",
	[REASON_NO_CELL] = "no-cell",
	[REASON_OTHER_ARCHITECTURE] = "other-architecture",
	[REASON_NO_PACKAGE] = "no-package",
	[REASON_WORKSPACE_BUSY] = "workspace-busy",
	[REASON_SESSION_BUSY] = "session-busy",
	[REASON_IMAGE_GONE] = "image-gone",
	[REASON_IMAGE_DAMAGED] = "image-damaged",
	[REASON_KERNEL_DAMAGED] = "kernel-damaged",
	[REASON_INITRD_DAMAGED] = "initrd-damaged",
	[REASON_SESSION_RESTORED] = "session-restored",
	[REASON_GUEST_USER_DENIED] = "guest-user-denied",
	[REASON_RECORD_CHANGED] = "record-changed",
	[REASON_NO_PVM_KERNEL] = "no-pvm-kernel",
	[REASON_SESSION_SHARES] = "session-shares",
	[REASON_SNAPSHOT_EXISTS] = "snapshot-exists",
	[REASON_PORT_PUBLISHED] = "port-published",
	[REASON_PORT_NOT_PUBLISHED] = "port-not-published",
	[REASON_GUEST_SILENT] = "guest-silent",
	[REASON_TOO_MANY_FILES] = "too-many-files",
	[REASON_CHANGES_NOT_LISTED] = "changes-not-listed",
};
static_assert(ARRAY_SIZE(reason_names) == ERROR_REASON_COUNT, "every reason has a name");

/*
 * Removes an incomplete UTF-8 sequence from the end of a text that was cut, because JSON cannot
 * hold such a sequence. `full` is the length of the whole text. If `full` is below `size`, the text
 * was not cut.
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
		return; /* the text ends with ASCII, or is not UTF-8 at all */
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
	char text[sizeof(err->msg)]; /* this buffer is separate because an argument may be err->msg
				      * itself */
	int n = vsnprintf(text, sizeof(text), fmt, args);

	if (n < 0)
		text[0] = '\0';
	else
		trim_cut_text(text, sizeof(text), (size_t)n);
	memcpy(err->msg, text, strlen(text) + 1);
}

static void set_anew(struct error *err, enum error_code code, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));
static void set_anew(struct error *err, enum error_code code, const char *fmt, va_list args)
{
	format_message(err, fmt, args); /* comes before err->subject changes, because an argument
					 * may be err->subject */
	err->code = code;
	err->errnum = 0;
	err->reason = REASON_NONE;
	err->subject[0] = '\0';
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	set_anew(err, code, fmt, args);
	va_end(args);
	return -1;
}

int error_reason(struct error *err, enum error_reason reason, const char *subject)
{
	size_t len = strlen(subject);

	if (!err)
		return -1;
	err->reason = reason;
	if (len < sizeof(err->subject))
		memmove(err->subject, subject, len + 1);
	else
		err->subject[0] = '\0'; /* a name that is too long is dropped, because its beginning
					 * could be the name of another thing */
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
	/* strerror() is not used, because the threads of the library's callers could call it at the
	 * same time. */
	const char *text = system_error_text(errnum);
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	set_anew(err, code_of_errno(errnum), fmt, args);
	va_end(args);
	err->errnum = errnum;
	if (errnum == EMFILE)
		error_reason(err, REASON_TOO_MANY_FILES, "");
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

const char *error_reason_name(enum error_reason reason)
{
	if ((unsigned)reason >= ERROR_REASON_COUNT)
		return reason_names[REASON_NONE];
	return reason_names[reason];
}

enum error_reason error_reason_from_name(const char *name)
{
	for (unsigned i = 0; name && i < ERROR_REASON_COUNT; i++)
		if (strcmp(reason_names[i], name) == 0)
			return (enum error_reason)i;
	return REASON_NONE;
}
