/* SPDX-License-Identifier: MIT */
/* Parses the names of bases. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/bases/base.h"

/* Finds a version like "-v3" at the end of the first `len` bytes of word. Returns the index of the
 * version's first byte, and sets *version to its number. Returns `len` if there is no version. */
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

static bool parse_base_name(const char *word, size_t len, struct base_name *out)
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
	if (parse_base_name(word, kind_name_length(word), out))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"\"%.128s\" cannot be a base's name, which begins with a letter or digit, has letters, digits, '.', '_' and '-', and is at most %d long; -vN may follow",
		word, BASE_NAME_MAX);
}

int base_version_check(const char *word, struct error *err)
{
	struct base_name name;

	if (base_name_parse(word, &name, err) < 0)
		return -1;
	return name.version && strcmp(name.full, word) == 0
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "\"%.128s\" is not the name of one version of a base, which ends in -vN: name one",
				 word);
}

int microagent_base_check_name(const char *word, struct error *err)
{
	struct base_name name;

	return base_name_parse(word, &name, err);
}

bool base_name_of_bundle(const char *file, struct base_name *out)
{
	size_t len = kind_name_length(file);

	return file[len] && parse_base_name(file, len, out) && out->version;
}
