/* SPDX-License-Identifier: MIT */
/* Parses the word for a shared directory. A path may contain a colon, so the word is parsed from
 * its end. */
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

/* Takes one option. Returns 0; 1 if it contradicts an earlier option; -1 if it is none. */
static int take_share_option(char *option, struct share_word *out)
{
	char *value = strchr(option, '='), *end = NULL;

	if (strcmp(option, "ro") == 0 || strcmp(option, "rw") == 0 ||
	    strcmp(option, SHARE_REVIEW) == 0) {
		if (out->moded && strcmp(out->mode, option) != 0)
			return 1;
		out->mode = option;
		out->moded = true;
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
	if (strcmp(option, "timeout") != 0)
		return -1;
	errno = 0;
	out->timeout_s = strtol(value, &end, 10);
	out->timed = true;
	return errno || end == value || *end ? -1 : 0;
}

bool share_word_has_place(const char *word)
{
	return strstr(word, ":/") != NULL;
}

int share_word_parse(const char *word, struct share_word *out, struct error *err)
{
	auto_share_word struct share_word cut = {.text = strdup(word), .mode = "rw"};
	char *mountpoint, *option, *options = NULL;

	if (!cut.text)
		return error_errno(err, ENOMEM, "share");
	mountpoint = share_word_has_place(word) ? cut_share_tail(cut.text) : NULL;
	if (mountpoint && *mountpoint != '/') {
		options = mountpoint;
		mountpoint = cut_share_tail(cut.text);
	}
	if (!*cut.text || (share_word_has_place(word) && (!mountpoint || *mountpoint != '/')))
		return error_set(
			err, ERR_INVALID,
			"\"%.200s\" does not name a directory to share: write DIR, DIR:/PLACE or DIR:/PLACE:OPTIONS; the options are ro, rw, review, cache=auto|always|none, timeout=SECONDS and locks",
			word);
	cut.dir = cut.text;
	cut.mountpoint = mountpoint ? mountpoint : SHARE_PLACE;
	/* The values of options are checked when the config is decoded. */
	while ((option = strsep(&options, ","))) {
		const char *said = word + (option - cut.text); /* the option with its value, for
							        * the message */

		int taken = take_share_option(option, &cut);

		if (taken > 0)
			return error_set(
				err, ERR_INVALID,
				"%.200s: ro, rw and review exclude each other: give one of them",
				word);
		if (taken < 0)
			return error_set(
				err, ERR_INVALID,
				"%.200s: \"%.*s\" is not an option of a share; the options are ro, rw, review, cache=auto|always|none, timeout=SECONDS and locks",
				word, (int)strcspn(said, ","), said);
	}
	if (share_word_is_review(&cut) && (cut.cache || cut.timed || cut.locks))
		return error_set(
			err, ERR_INVALID,
			"%.200s: the guest of a review has its own copy of the files, so cache, timeout and locks say nothing: leave them out",
			word);
	*out = cut;
	cut.text = NULL;
	return 0;
}

bool share_word_is_review(const struct share_word *word)
{
	return strcmp(word->mode, SHARE_REVIEW) == 0;
}

void share_word_free(struct share_word *word)
{
	free(word->text);
}
