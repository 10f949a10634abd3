/* SPDX-License-Identifier: MIT */
#include "supervisor/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

const char options_live_prefix[] = "--live-supervisor-of=";

enum option_kind { OPTION_FLAG, OPTION_FD };

static const struct option_row {
	const char *name;
	enum option_kind kind;
	size_t offset; /* in struct options */
	const char *text;
} option_table[] = {
	{"--lifeline-fd", OPTION_FD, offsetof(struct options, lifeline_fd),
	 "run: the end of what can be read from descriptor N ends the VM"},
	{"--events-fd", OPTION_FD, offsetof(struct options, events_fd),
	 "run: write each event to descriptor N as it is recorded, one a line"},
	{"--attach", OPTION_FLAG, offsetof(struct options, attach),
	 "run: the workload starts when a client attaches to the agent"},
	{"--remove", OPTION_FLAG, offsetof(struct options, remove),
	 "run: remove the workspace when all is over"},
	{"--print-capabilities", OPTION_FLAG, offsetof(struct options, capabilities),
	 "print what this backend does, and read no request"},
	{"--reader", OPTION_FLAG, offsetof(struct options, reader),
	 "run: mount the root disk for files to be read from it, and run nothing of it"},
	{"--writer", OPTION_FLAG, offsetof(struct options, writer),
	 "run: the same for files to be read from it and written to it"},
	{"--full", OPTION_FLAG, offsetof(struct options, full),
	 "inspect: take a new digest of the root file system"},
	{"--help", OPTION_FLAG, offsetof(struct options, help), "show this text"},
	{"--version", OPTION_FLAG, offsetof(struct options, version), "show the version"},
};

static const struct option_row *find_option(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++)
		if (strlen(option_table[i].name) == len &&
		    !strncmp(option_table[i].name, word, len))
			return &option_table[i];
	return NULL;
}

static int parse_fd(const char *name, const char *text, int *out, struct error *err)
{
	char *end = NULL;
	long value;

	errno = 0;
	value = text ? strtol(text, &end, 10) : -1;
	if (!text || end == text || *end || errno || value < 3 || value > 1 << 20)
		return error_set(err, ERR_INVALID,
				 "%s needs the number of an open descriptor, 3 or more", name);
	if (fcntl((int)value, F_GETFD) < 0)
		return error_set(err, ERR_INVALID, "%s: descriptor %ld is not open", name, value);
	if (fd_cloexec((int)value, true, err) < 0)
		return error_prefix(err, "%s", name);
	*out = (int)value;
	return 0;
}

/* One word, and for "--x N" the next one. Returns how many words were used, or -1. */
static int parse_word(char **words, struct options *out, struct error *err)
{
	const char *equals = strchr(words[0], '=');
	size_t len = equals ? (size_t)(equals - words[0]) : strlen(words[0]);
	const struct option_row *row = find_option(words[0], len);
	char *field;

	if (!row)
		return error_set(err, ERR_INVALID, "unknown option %s; --help lists them",
				 words[0]);
	field = (char *)out + row->offset;
	if (row->kind == OPTION_FLAG) {
		if (equals)
			return error_set(err, ERR_INVALID, "%s takes no value", row->name);
		*(bool *)(void *)field = true;
		return 1;
	}
	if (parse_fd(row->name, equals ? equals + 1 : words[1], (int *)(void *)field, err) < 0)
		return -1;
	return equals ? 1 : 2;
}

int options_parse(int argc, char **argv, struct options *out, struct error *err)
{
	struct options parsed = {.lifeline_fd = -1, .events_fd = -1};
	size_t prefix = strlen(options_live_prefix);

	if (argc == 2 && !strncmp(argv[1], options_live_prefix, prefix)) {
		parsed.live = argv[1] + prefix;
		*out = parsed;
		return 0;
	}
	for (int i = 1; i < argc;) {
		int used = parse_word(argv + i, &parsed, err);

		if (used < 0)
			return -1;
		i += used;
	}
	*out = parsed;
	return 0;
}

void options_help(FILE *to, const char *program)
{
	fprintf(to, "usage: %s [OPTION]... < REQUEST\n\n", program);
	fputs("Reads one JSON request from stdin, acts on it, and writes one JSON answer to\n"
	      "stdout. Diagnostics go to stderr. Exit code 0: the answer says ok; 75: trying\n"
	      "again may help; 1: otherwise.\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++)
		fprintf(to, "  %-20s %s  %s\n", option_table[i].name,
			option_table[i].kind == OPTION_FD ? "N" : " ", option_table[i].text);
}
