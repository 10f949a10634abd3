/* SPDX-License-Identifier: MIT */
#include "contract/kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SESSION_PREFIX "session-"

/* @: its name; #: its id; ~: its state directory; $: the detail. */
static const char *const words[KIND_WORDS_COUNT][2] = {
	[KIND_QUARANTINED] = {"workspace \"@\" is quarantined and nothing reaches it: "
			      "`microagent halt @` (or stop, or kill) ends that",
			      "session @ is quarantined and nothing reaches it: "
			      "`microagent session destroy @` ends it"},
	[KIND_NOT_RUNNING] = {"workspace \"@\" is $, not running: `microagent start @` first",
			      "session @ is $: `microagent session destroy @` removes it, and "
			      "`session create` makes another; "
			      "`microagent --state-dir ~ start #` boots this one again"},
	[KIND_ENDED] = {"the machine of workspace \"@\" has ended: `microagent status @` says how, "
			"`microagent start @` boots it again",
			"session @ is failed, its machine has ended: "
			"`microagent session destroy @` removes it, and `session create` makes "
			"another; `microagent --state-dir ~ start #` boots this one again"},
	[KIND_PAUSED] = {"workspace \"@\" is $; it goes on when there is room again",
			 "session @ is $; it goes on when there is room again"},
	/* Of sessions alone, whatever they are called. */
	[KIND_AT_QUOTA] = {"session @ is $: `microagent session quota @ MIB` raises it, and the "
			   "session goes on",
			   "session @ is $: `microagent session quota @ MIB` raises it, and the "
			   "session goes on"},
	[KIND_LOST] = {"workspace \"@\": $: `microagent status @` says what became of it",
		       "session @: $: `microagent session list` says what became of it"},
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

void kind_say(enum kind_words what, const char *id, const char *state_dir, const char *detail,
	      char *out, size_t size)
{
	const struct {
		char mark;
		const char *text;
		size_t len;
	} values[] = {
		{'@', id, kind_name_length(id)},
		{'#', id, strlen(id)},
		{'~', state_dir, strlen(state_dir)},
		{'$', detail, strlen(detail)},
	};
	size_t at = 0;

	for (const char *c = words[what][is_session(id)]; *c && at < size; c++) {
		size_t i = 0;

		while (i < 4 && values[i].mark != *c)
			i++;
		at += (size_t)(i < 4 ? snprintf(out + at, size - at, "%.*s", (int)values[i].len,
						values[i].text)
				     : snprintf(out + at, size - at, "%c", *c));
	}
}
