/* SPDX-License-Identifier: MIT */
/* Makes and checks the names of sessions. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/platform/system.h"
#include "session/sessions/session.h"

/* The patterns of names. In a pattern, 0 stands for a digit, and # for a lower-case hexadecimal
 * digit. */
static const char session_pattern[] = "session-0000-00-00T00-00-00Z-####";
/* The pattern of the name of a sandbox of microagent-oci. A sandbox is not a session, but has an
 * audit log too. */
static const char sandbox_pattern[] = "sandbox-0000-00-00T00-00-00Z-########";

int session_name_new(char out[SESSION_NAME_ROOM], struct error *err)
{
	time_t now = (time_t)(clock_real_ns() / (int64_t)NS_PER_S);
	unsigned char bytes[2];
	struct tm utc;

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return -1;
	if (!gmtime_r(&now, &utc) || utc.tm_year + 1900 > 9999)
		return error_set(err, ERR_IO,
				 "the host's clock cannot be read as a date: set the clock");
	snprintf(out, SESSION_NAME_ROOM, "session-%04u-%02u-%02uT%02u-%02u-%02uZ-%02x%02x",
		 (unsigned)(utc.tm_year + 1900) % 10000, (unsigned)(utc.tm_mon + 1) % 100,
		 (unsigned)utc.tm_mday % 100, (unsigned)utc.tm_hour % 100,
		 (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100, bytes[0], bytes[1]);
	return 0;
}

static bool fits_pattern(const char *pattern, const char *word, size_t len)
{
	if (len != strlen(pattern))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)word[i];
		bool fits = pattern[i] == '0'	? isdigit(c) != 0
			    : pattern[i] == '#' ? isxdigit(c) && !isupper(c)
						: c == (unsigned char)pattern[i];

		if (!fits)
			return false;
	}
	return true;
}

int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err)
{
	size_t len = kind_name_length(word);

	if (!fits_pattern(session_pattern, word, len)) {
		error_set(err, ERR_INVALID,
			  "\"%.128s\" is not a session's name, which looks like %s", word,
			  "session-2026-05-10T14-22-00Z-a7f3");
		return error_reason(err, REASON_NO_SESSION, word);
	}
	snprintf(out, SESSION_NAME_ROOM, "%.*s", (int)len, word);
	return 0;
}

int session_audited_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err)
{
	size_t len = kind_name_length(word);

	if (!fits_pattern(sandbox_pattern, word, len))
		return session_name_parse(word, out, err);
	snprintf(out, SESSION_NAME_ROOM, "%.*s", (int)len, word);
	return 0;
}

int microagent_session_check_name(const char *word, struct error *err)
{
	char name[SESSION_NAME_ROOM];

	return session_name_parse(word, name, err);
}

int microagent_audit_check_name(const char *word, struct error *err)
{
	char name[SESSION_NAME_ROOM];

	return session_audited_parse(word, name, err);
}

bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM])
{
	size_t len = kind_name_length(id);

	if (!id[len] || !fits_pattern(session_pattern, id, len))
		return false;
	snprintf(out, SESSION_NAME_ROOM, "%.*s", (int)len, id);
	return true;
}
