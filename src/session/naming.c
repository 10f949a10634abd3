/* SPDX-License-Identifier: MIT */
/* Names of sessions and of bases. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "session/base.h"

/* A digit where the pattern has 0, a lower-case hexadecimal digit where it has x. */
static const char session_pattern[] = "session-0000-00-00T00-00-00Z-xxxx";

int session_name_new(char out[SESSION_NAME_ROOM], struct error *err)
{
	time_t now = (time_t)(clock_real_ns() / (int64_t)NS_PER_S);
	unsigned char bytes[2];
	struct tm utc;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, errno, "getrandom");
	if (!gmtime_r(&now, &utc) || utc.tm_year + 1900 > 9999)
		return error_set(err, ERR_IO, "the host's clock has no date");
	snprintf(out, SESSION_NAME_ROOM, "session-%04u-%02u-%02uT%02u-%02u-%02uZ-%02x%02x",
		 (unsigned)(utc.tm_year + 1900) % 10000, (unsigned)(utc.tm_mon + 1) % 100,
		 (unsigned)utc.tm_mday % 100, (unsigned)utc.tm_hour % 100,
		 (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100, bytes[0], bytes[1]);
	return 0;
}

static bool fits_pattern(const char *word, size_t len)
{
	if (len != sizeof(session_pattern) - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)word[i];
		bool fits = session_pattern[i] == '0'	? isdigit(c) != 0
			    : session_pattern[i] == 'x' ? isxdigit(c) && !isupper(c)
							: c == (unsigned char)session_pattern[i];

		if (!fits)
			return false;
	}
	return true;
}

static size_t without_suffix(const char *word)
{
	size_t len = strlen(word), suffix = strlen(SESSION_SUFFIX);

	return len > suffix && strcmp(word + len - suffix, SESSION_SUFFIX) == 0 ? len - suffix
										: len;
}

int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err)
{
	size_t len = without_suffix(word);

	if (!fits_pattern(word, len))
		return error_set(err, ERR_INVALID,
				 "\"%.128s\" is no name of a session: they look like %s; "
				 "`microagent session list` has them",
				 word, "session-2026-05-10T14-22-00Z-a7f3");
	snprintf(out, SESSION_NAME_ROOM, "%.*s", (int)len, word);
	return 0;
}

int microagent_session_check_name(const char *word, struct error *err)
{
	char name[SESSION_NAME_ROOM];

	return session_name_parse(word, name, err);
}

bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM])
{
	size_t len = without_suffix(id);

	if (!id[len] || !fits_pattern(id, len))
		return false;
	snprintf(out, SESSION_NAME_ROOM, "%.*s", (int)len, id);
	return true;
}

/* "-v3" at the end of len bytes: where it begins, and 3. len: there is none. */
static size_t find_version(const char *word, size_t len, unsigned *version)
{
	size_t digits = len;

	while (digits > 0 && isdigit((unsigned char)word[digits - 1]))
		digits--;
	if (digits == len || len - digits > 6 || digits < 3 || word[digits] == '0' ||
	    strncmp(word + digits - 2, "-v", 2) != 0)
		return len;
	*version = (unsigned)strtoul(word + digits, NULL, 10);
	return digits - 2;
}

static bool parse(const char *word, size_t len, struct base_name *out)
{
	struct base_name name = {0};
	size_t own = find_version(word, len, &name.version);

	if (own == 0 || own > BASE_NAME_MAX)
		return false;
	memcpy(name.name, word, own);
	if (microagent_check_name(name.name, NULL) < 0)
		return false;
	if (name.version)
		snprintf(name.full, sizeof(name.full), "%s-v%u", name.name, name.version);
	*out = name;
	return true;
}

int base_name_parse(const char *word, struct base_name *out, struct error *err)
{
	if (parse(word, without_suffix(word), out))
		return 0;
	return error_set(err, ERR_INVALID,
			 "\"%.128s\" cannot be a base's name: a letter or digit, then letters, "
			 "digits, '.', '_' and '-', at most %d in all, and perhaps -vN behind it",
			 word, BASE_NAME_MAX);
}

int microagent_base_check_name(const char *word, struct error *err)
{
	struct base_name name;

	return base_name_parse(word, &name, err);
}

bool base_name_of_bundle(const char *file, struct base_name *out)
{
	size_t len = without_suffix(file);

	return file[len] && parse(file, len, out) && out->version;
}
