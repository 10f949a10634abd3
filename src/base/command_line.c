/* SPDX-License-Identifier: MIT */
#include "base/command_line.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/isolate.h"

#define TEXT_COLUMN 25

static void list_longs(const struct option_row *rows, size_t count, struct option *longs)
{
	for (size_t i = 0; i < count; i++)
		longs[i] =
			(struct option){.name = rows[i].name,
					.has_arg = rows[i].value ? required_argument : no_argument,
					.val = (int)i};
	longs[count] = (struct option){0};
}

int command_line_parse(const struct option_row *rows, size_t count, int argc, char **argv,
		       void *target, struct error *err)
{
	struct option longs[count + 1];
	int i;

	list_longs(rows, count, longs);
	opterr = 0;
	optind = 0; /* from the beginning, also within a word that an earlier call was in */
	while ((i = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (i == '?')
			return error_set(err, ERR_INVALID,
					 "'%s' is not an option, or lacks its value; see --help",
					 argv[optind - 1]);
		if (rows[i].take((char *)target + rows[i].at, optarg, err) < 0)
			return error_prefix(err, "--%s", rows[i].name);
	}
	if (optind < argc)
		return error_set(err, ERR_INVALID, "'%s' is not an option; see --help",
				 argv[optind]);
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

/* The last number of 32 bits means "nobody" to the kernel. */
int option_uid(void *field, const char *value, struct error *err)
{
	struct isolate_identity *who = field;
	uint64_t v;

	if (command_line_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	who->uid = (uid_t)v;
	who->set_uid = true;
	return 0;
}

int option_gid(void *field, const char *value, struct error *err)
{
	struct isolate_identity *who = field;
	uint64_t v;

	if (command_line_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	who->gid = (gid_t)v;
	who->set_gid = true;
	return 0;
}
