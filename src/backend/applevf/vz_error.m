/* SPDX-License-Identifier: MIT */
/* What the framework says went wrong, as an error of ours. */
#include "backend/applevf/vz_objc.h"

#include <string.h>

/* developer.apple.com/documentation/virtualization/vzerror/code */
static enum error_code code_of(NSError *error)
{
	if (![[error domain] isEqualToString:VZErrorDomain])
		return ERR_IO;
	switch ([error code]) {
	case VZErrorInvalidVirtualMachineConfiguration:
	case VZErrorInvalidDiskImage:
		return ERR_INVALID;
	case VZErrorInvalidVirtualMachineState:
	case VZErrorInvalidVirtualMachineStateTransition:
		return ERR_CONFLICT;
	case VZErrorVirtualMachineLimitExceeded:
	case VZErrorOutOfDiskSpace:
	case VZErrorNetworkError:
		return ERR_UNAVAILABLE;
	case VZErrorNotSupported:
		return ERR_UNSUPPORTED;
	default:
		return ERR_IO;
	}
}

static const char *text_of(NSString *text)
{
	const char *bytes = text ? [text UTF8String] : NULL;

	return bytes ? bytes : "";
}

int vz_tell_error(struct error *err, const char *what, NSError *error)
{
	@autoreleasepool {
		const char *text, *reason;

		if (!error)
			return error_set(err, ERR_IO, "%s: the framework does not say why", what);
		text = text_of([error localizedDescription]);
		reason = text_of([error localizedFailureReason]);
		/* Often the one is the end of the other. */
		if (!*reason || strstr(text, reason))
			reason = "";
		return error_set(err, code_of(error), "%s: %.300s%s%.300s (%.80s %ld)", what, text,
				 *reason ? " " : "", reason, text_of([error domain]),
				 (long)[error code]);
	}
}

int vz_tell_exception(struct error *err, const char *what, NSException *exception)
{
	return error_set(err, ERR_INTERNAL,
			 "%s: the framework refuses it by an exception: %.100s: %.300s", what,
			 text_of([exception name]), text_of([exception reason]));
}
