/* SPDX-License-Identifier: MIT */
#include "base/command_line.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMN 25

static int refuse_word(const char *word, struct error *err)
{
	return error_set(err, ERR_INVALID, "unknown option %s: --help lists the options", word);
}

static const struct option_row *find_row(const struct option_row *rows, size_t count,
					 const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

/* Reads an option with its value: "--x=V", or "--x" and the next word. Returns the number of words
 * read, or -1 with an error. */
static int take_option(const struct option_row *rows, size_t count, char **words, void *target,
		       struct error *err)
{
	const char *equals = strchr(words[0], '='), *value = equals ? equals + 1 : NULL;
	size_t len = equals ? (size_t)(equals - words[0]) : strlen(words[0]);
	const struct option_row *row =
		len > 2 && words[0][1] == '-' ? find_row(rows, count, words[0] + 2, len - 2) : NULL;
	bool uses_next = row && row->value && !value;

	if (!row)
		return refuse_word(words[0], err);
	if (!row->value && value)
		return error_set(err, ERR_INVALID, "--%s takes no value: leave the value out",
				 row->name);
	if (uses_next && !(value = words[1]))
		return error_set(err, ERR_INVALID, "--%s needs a value: give one", row->name);
	if (row->take((char *)target + row->at, value, err) < 0)
		return error_prefix(err, "--%s", row->name);
	return uses_next ? 2 : 1;
}

int command_line_parse(const struct option_row *rows, size_t count, int argc, char **argv,
		       void *target, size_t *words, struct error *err)
{
	bool are_words = false;
	size_t found = 0;
	int used;

	for (int i = 1; i < argc; i += used) {
		bool is_option = !are_words && argv[i][0] == '-' && argv[i][1];

		used = 1;
		if (is_option && strcmp(argv[i], "--") == 0)
			are_words = true;
		else if (is_option)
			used = take_option(rows, count, argv + i, target, err);
		else if (words)
			argv[1 + found++] = argv[i];
		else
			return refuse_word(argv[i], err);
		if (used < 0)
			return -1;
	}
	if (words)
		*words = found;
	return 0;
}

void command_line_help(const struct option_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int n = printf("  --%s%s%s", rows[i].name, rows[i].value ? " " : "",
			       rows[i].value ? rows[i].value : "");

		printf("%*s%s\n", n < TEXT_COLUMN ? TEXT_COLUMN - n : 1, "", rows[i].text);
	}
}

int command_line_number(const char *text, uint64_t min, uint64_t max, uint64_t *out,
			struct error *err)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < min || v > max)
		return error_set(err, ERR_INVALID, "'%s' is not a number from %llu to %llu", text,
				 (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

int option_fd(void *field, const char *value, struct error *err)
{
	uint64_t v;

	if (command_line_number(value, 0, INT_MAX, &v, err) < 0)
		return -1;
	*(int *)field = (int)v;
	return 0;
}

int option_text(void *field, const char *value, struct error *err)
{
	(void)err;
	*(const char **)field = value;
	return 0;
}

int option_given(void *field, const char *value, struct error *err)
{
	(void)value, (void)err;
	*(bool *)field = true;
	return 0;
}

int option_ignore(void *field, const char *value, struct error *err)
{
	(void)field, (void)value, (void)err;
	return 0;
}

int option_caller(void *field, const char *value, struct error *err)
{
	(void)field;
	if (strcmp(value, MICROAGENT_VERSION) == 0)
		return 0;
	return error_set(err, ERR_UNAVAILABLE,
			 "microagent %s has started this program of microagent " MICROAGENT_VERSION
			 ": another version was installed meanwhile; run the command again",
			 value);
}
