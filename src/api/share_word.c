/* SPDX-License-Identifier: MIT */
/* Paths may hold colons, so the word is read from its end. */
#include "api/share_word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static char *cut_share_tail(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static int take_timeout(const char *value, struct share_word *out)
{
	char *end = NULL;

	errno = 0;
	out->timeout_s = strtol(value, &end, 10);
	out->timed = true;
	return errno || end == value || *end ? -1 : 0;
}

static int take_share_option(char *option, struct share_word *out)
{
	char *value = strchr(option, '=');

	if (strcmp(option, "ro") == 0 || strcmp(option, "rw") == 0) {
		out->mode = option;
		return 0;
	}
	if (strcmp(option, "locks") == 0) {
		out->locks = true;
		return 0;
	}
	if (!value)
		return -1;
	*value++ = '\0';
	if (strcmp(option, "cache") == 0) {
		out->cache = value;
		return 0;
	}
	return strcmp(option, "timeout") == 0 ? take_timeout(value, out) : -1;
}

/* Which value one may have the config knows. */
static int take_share_options(char *options, struct share_word *out)
{
	char *option;

	while ((option = strsep(&options, ",")))
		if (take_share_option(option, out) < 0)
			return -1;
	return 0;
}

static int cut_share_word(struct share_word *out)
{
	char *mountpoint = cut_share_tail(out->text);
	char *options = NULL;

	if (mountpoint && *mountpoint != '/') {
		options = mountpoint;
		mountpoint = cut_share_tail(out->text);
	}
	out->dir = out->text;
	out->mountpoint = mountpoint;
	return !mountpoint || !*out->text || *mountpoint != '/' ? -1
								: take_share_options(options, out);
}

int share_word_parse(const char *word, struct share_word *out, struct error *err)
{
	auto_share_word struct share_word cut = {.text = strdup(word), .mode = "rw"};

	if (!cut.text)
		return error_errno(err, ENOMEM, "share");
	if (cut_share_word(&cut) < 0)
		return error_set(
			err, ERR_INVALID,
			"\"%.200s\" is not DIR:/MOUNTPOINT or DIR:/MOUNTPOINT:OPTIONS, "
			"which are ro, rw, cache=auto|always|none, timeout=SECONDS and locks",
			word);
	*out = cut;
	cut.text = NULL;
	return 0;
}

void share_word_free(struct share_word *word)
{
	free(word->text);
}
