/* SPDX-License-Identifier: MIT */
#include "contract/kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SESSION_PREFIX "session-"
#define BOOT_AGAIN                                                                        \
	"`microagent session destroy @` removes it, and `session create` makes another; " \
	"`microagent --state-dir ~ start #` boots this one again"
#define RAISE_QUOTA "`microagent session quota @ MIB` raises it, and the session goes on"

/* What is the matter, and the next step for a person; NULL: none. @: its name; #: its id; ~: its
 * state directory; $: the detail. */
static const struct words {
	const char *fact, *step;
} table[KIND_WORDS_COUNT][2] = {
	[KIND_QUARANTINED] = {{"workspace \"@\" is quarantined and nothing reaches it",
			       "`microagent halt @` (or stop, or kill) ends that"},
			      {"session @ is quarantined and nothing reaches it",
			       "`microagent session destroy @` ends it"}},
	[KIND_NOT_RUNNING] = {{"workspace \"@\" is $, not running", "`microagent start @` first"},
			      {"session @ is $", BOOT_AGAIN}},
	[KIND_ENDED] = {{"the machine of workspace \"@\" has ended",
			 "`microagent status @` says how, `microagent start @` boots it again"},
			{"session @ is failed, its machine has ended", BOOT_AGAIN}},
	[KIND_PAUSED] = {{"workspace \"@\" is $; it goes on when there is room again", NULL},
			 {"session @ is $; it goes on when there is room again", NULL}},
	/* Sessions alone have one, whatever their id. */
	[KIND_AT_QUOTA] = {{"session @ is $", RAISE_QUOTA}, {"session @ is $", RAISE_QUOTA}},
	[KIND_LOST] = {{"workspace \"@\": $", "`microagent status @` says what became of it"},
		       {"session @: $", "`microagent session list` says what became of it"}},
};

size_t kind_name_length(const char *id)
{
	size_t len = strlen(id), suffix = strlen(BUNDLE_SUFFIX);

	return len > suffix && strcmp(id + len - suffix, BUNDLE_SUFFIX) == 0 ? len - suffix : len;
}

static bool is_session(const char *id)
{
	return strncmp(id, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0 &&
	       kind_name_length(id) < strlen(id);
}

struct value {
	char mark;
	const char *text;
	size_t len;
};

/* Appends text with the values in place of their marks; what does not fit is cut off. */
static void fill_in(const char *text, const struct value values[4], char *out, size_t size)
{
	size_t at = strlen(out);

	for (const char *c = text; *c && at < size; c++) {
		struct value value = {.text = c, .len = 1};

		for (int i = 0; i < 4; i++)
			if (values[i].mark == *c)
				value = values[i];
		at += (size_t)snprintf(out + at, size - at, "%.*s", (int)value.len, value.text);
	}
}

void kind_say(enum kind_words what, const char *id, const char *state_dir, const char *detail,
	      char *out, size_t size)
{
	const struct value values[] = {
		{'@', id, kind_name_length(id)},
		{'#', id, strlen(id)},
		{'~', state_dir, strlen(state_dir)},
		{'$', detail, strlen(detail)},
	};
	const struct words *words = &table[what][is_session(id)];

	out[0] = '\0';
	fill_in(words->fact, values, out, size);
	if (words->step) {
		fill_in(": ", values, out, size);
		fill_in(words->step, values, out, size);
	}
}
