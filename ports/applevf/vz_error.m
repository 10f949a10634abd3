/* SPDX-License-Identifier: MIT */
/* Converts errors of the framework into struct error. */
#include "applevf/vz_objc.h"

#include <string.h>

/* Returns the error code of this project for an error of the framework
 * (developer.apple.com/documentation/virtualization/vzerror/code). */
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
	case VZErrorRestoreImageCatalogLoadFailed:
		return ERR_UNAVAILABLE;
	case VZErrorNotSupported:
	case VZErrorInstallationRequiresUpdate:
		return ERR_UNSUPPORTED;
	case VZErrorRestoreImageLoadFailed:
	case VZErrorInvalidRestoreImage:
		return ERR_INVALID;
	default:
		return ERR_IO;
	}
}

static const char *text_of(NSString *text)
{
	const char *bytes = text ? [text UTF8String] : NULL;

	return bytes ? bytes : "";
}

/* Returns a text that explains an error in addition to the framework's text, or "" if there is no
 * such text. */
static const char *meaning_of(NSError *error)
{
	if (![[error domain] isEqualToString:VZErrorDomain])
		return "";
	switch ([error code]) {
	case VZErrorVirtualMachineLimitExceeded:
		return "Apple allows two running macOS guests on a Mac, and as many run; ";
	case VZErrorInstallationRequiresUpdate:
		return "this macOS is too old to install that one; ";
	default:
		return "";
	}
}

int vz_tell_error(struct error *err, const char *what, NSError *error)
{
	@autoreleasepool {
		const char *text, *reason;

		if (!error)
			return error_set(err, ERR_IO,
					 "%s: Virtualization.framework does not say why", what);
		text = text_of([error localizedDescription]);
		reason = text_of([error localizedFailureReason]);
		/* Leaves out the reason if the framework's text already contains it. */
		if (!*reason || strstr(text, reason))
			reason = "";
		return error_set(err, code_of(error), "%s: %s%.300s%s%.300s (%.80s %ld)", what,
				 meaning_of(error), text, *reason ? " " : "", reason,
				 text_of([error domain]), (long)[error code]);
	}
}

int vz_tell_exception(struct error *err, const char *what, NSException *exception)
{
	return error_set(
		err, ERR_INTERNAL,
		"%s: Virtualization.framework refuses this with the exception %.100s: %.300s", what,
		text_of([exception name]), text_of([exception reason]));
}
