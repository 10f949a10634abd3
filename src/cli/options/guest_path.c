/* SPDX-License-Identifier: MIT */
#include "cli/options/guest_path.h"

#include <stdio.h>
#include <string.h>

bool guest_path_parse(const char *word, char name[64], const char **path)
{
	const char *colon = strchr(word, ':');
	size_t len = colon ? (size_t)(colon - word) : 0;

	if (!colon || colon[1] != '/' || len == 0 || len >= 64 || memchr(word, '/', len))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	*path = colon + 1;
	return true;
}

int guest_path_error(const char *name, struct error *err)
{
	enum error_reason reason = err->reason;
	char message[sizeof(err->msg)];

	if (err->msg[0] != '/' || err->errnum ||
	    (reason != REASON_NONE && reason != REASON_GUEST_USER_DENIED))
		return -1;
	snprintf(message, sizeof(message), "%s", err->msg);
	error_set(err, err->code, "%s:%.900s", name, message);
	return error_reason(err, reason, "");
}
