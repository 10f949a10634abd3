/* SPDX-License-Identifier: MIT */
#include "contract/kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SESSION_PREFIX "session-"

/* For each enum kind_words: the text about a workspace, and the text about a session. In these
 * texts, @ stands for the name of the workspace or session, and $ for the detail. */
static const struct words {
	const char *fact;
	enum error_reason reason;
} table[KIND_WORDS_COUNT][2] = {
	[KIND_QUARANTINED] = {{"workspace \"@\" is quarantined and nothing reaches it",
			       REASON_WORKSPACE_QUARANTINED},
			      {"session @ is quarantined and nothing reaches it",
			       REASON_SESSION_QUARANTINED}},
	[KIND_KEPT] = {{"workspace \"@\" is quarantined, so it is kept as it is",
			REASON_WORKSPACE_QUARANTINED},
		       {"session @ is quarantined, so it is kept as it is",
			REASON_SESSION_QUARANTINED}},
	[KIND_NOT_RUNNING] = {{"workspace \"@\" is $, not running", REASON_WORKSPACE_DOWN},
			      {"session @ is $", REASON_SESSION_DOWN}},
	[KIND_ENDED] = {{"the machine of workspace \"@\" has ended", REASON_WORKSPACE_ENDED},
			{"session @ has failed: its machine has ended", REASON_SESSION_DOWN}},
	[KIND_PAUSED] = {{"workspace \"@\" is $; it goes on when there is room again", REASON_NONE},
			 {"session @ is $; it goes on when there is room again", REASON_NONE}},
	[KIND_BUSY] = {{"workspace \"@\" is $: wait until it is running or stopped",
			REASON_WORKSPACE_BUSY},
		       {"session @ is $: wait until it is running or stopped",
			REASON_SESSION_BUSY}},
	/* Both texts say "session", because only sessions have a quota, even if the id does not
	 * look like that of a session. */
	[KIND_AT_QUOTA] = {{"session @ is $", REASON_SESSION_AT_QUOTA},
			   {"session @ is $", REASON_SESSION_AT_QUOTA}},
	[KIND_LOST] = {{"workspace \"@\": $", REASON_WORKSPACE_LOST},
		       {"session @: $", REASON_SESSION_LOST}},
	[KIND_NO_OUTPUT] = {{"workspace \"@\" declares no output \"$\"", REASON_NO_SUCH_OUTPUT},
			    {"session @ declares no output \"$\"", REASON_NO_SUCH_OUTPUT}},
};

size_t kind_name_length(const char *id)
{
	size_t len = strlen(id), suffix = strlen(BUNDLE_SUFFIX);

	return len > suffix && strcmp(id + len - suffix, BUNDLE_SUFFIX) == 0 ? len - suffix : len;
}

bool kind_is_session(const char *id)
{
	return strncmp(id, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0 &&
	       kind_name_length(id) < strlen(id);
}

void kind_name(const char *id, char out[KIND_NAME_ROOM])
{
	if (kind_is_session(id))
		snprintf(out, KIND_NAME_ROOM, "session %.*s", (int)kind_name_length(id), id);
	else
		snprintf(out, KIND_NAME_ROOM, "workspace \"%s\"", id);
}

void kind_bare_name(const char *id, char out[KIND_NAME_ROOM])
{
	if (kind_is_session(id))
		kind_name(id, out);
	else
		snprintf(out, KIND_NAME_ROOM, "workspace %s", id);
}

int kind_error(const char *id, enum error_code code, struct error *err, const char *fmt, ...)
{
	char name[KIND_NAME_ROOM], rest[sizeof(err->msg)];
	va_list args;

	kind_bare_name(id, name);
	va_start(args, fmt);
	vsnprintf(rest, sizeof(rest), fmt, args);
	va_end(args);
	return error_set(err, code, "%s %s", name, rest);
}

int kind_prefix(const char *id, struct error *err)
{
	char name[KIND_NAME_ROOM];

	kind_bare_name(id, name);
	if (!err || strncmp(err->msg, name, strlen(name)) == 0)
		return -1;
	return error_prefix(err, "%s", name);
}

/* Writes `text` into `out`, with `name` in place of each @ and `detail` in place of each $. A
 * result that does not fit into `out` is cut. */
static void fill_in(const char *text, const char *name, const char *detail, char *out, size_t size)
{
	size_t at = 0;

	for (; *text && at < size; text++)
		at += (size_t)snprintf(out + at, size - at, "%.*s",
				       *text == '@' || *text == '$' ? (int)size : 1,
				       *text == '@'   ? name
				       : *text == '$' ? detail
						      : text);
}

int kind_say(enum kind_words what, const char *id, const char *detail, enum error_code code,
	     struct error *err)
{
	const struct words *words = &table[what][kind_is_session(id)];
	char name[sizeof(err->subject)], text[sizeof(err->msg)];

	snprintf(name, sizeof(name), "%.*s", (int)kind_name_length(id), id);
	fill_in(words->fact, name, detail, text, sizeof(text));
	error_set(err, code, "%s", text);
	return error_reason(err, words->reason, words->reason == REASON_NONE ? "" : name);
}
