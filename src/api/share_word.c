/* SPDX-License-Identifier: MIT */
/* Paths may hold colons, so the word is read from its end. */
#include "api/share_word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define OPTIONS "ro, rw, cache=auto|always|none, timeout=SECONDS and locks"

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

/* Which value one may have the config knows. word: of which the options are the end. */
static int take_share_options(const char *word, char *options, struct share_word *out,
			      struct error *err)
{
	char *option;

	while ((option = strsep(&options, ","))) {
		const char *said = word + (option - out->text); /* with its value */

		if (take_share_option(option, out) < 0)
			return error_set(
				err, ERR_INVALID,
				"%.200s: \"%.*s\" is no option of a share, which are " OPTIONS,
				word, (int)strcspn(said, ","), said);
	}
	return 0;
}

static int cut_share_word(const char *word, struct share_word *out, struct error *err)
{
	char *mountpoint = cut_share_tail(out->text);
	char *options = NULL;

	if (mountpoint && *mountpoint != '/') {
		options = mountpoint;
		mountpoint = cut_share_tail(out->text);
	}
	out->dir = out->text;
	out->mountpoint = mountpoint;
	if (!mountpoint || !*out->text || *mountpoint != '/')
		return error_set(err, ERR_INVALID,
				 "\"%.200s\" is not DIR:/MOUNTPOINT or DIR:/MOUNTPOINT:OPTIONS, "
				 "which are " OPTIONS,
				 word);
	return take_share_options(word, options, out, err);
}

int share_word_parse(const char *word, struct share_word *out, struct error *err)
{
	auto_share_word struct share_word cut = {.text = strdup(word), .mode = "rw"};

	if (!cut.text)
		return error_errno(err, ENOMEM, "share");
	if (cut_share_word(word, &cut, err) < 0)
		return -1;
	*out = cut;
	cut.text = NULL;
	return 0;
}

void share_word_free(struct share_word *word)
{
	free(word->text);
}
