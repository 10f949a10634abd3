/* SPDX-License-Identifier: MIT */
/* The word with which users ask for a shared directory: DIR[:/PLACE[:OPTION,...]]. */
#ifndef API_SHARE_WORD_H
#define API_SHARE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The values in the word. share_word_parse() does not check whether such a share is possible. */
struct share_word {
	/* The text into which the pointers below point. share_word_free() frees it. */
	char *text;
	const char *dir, *mountpoint, *mode, *cache; /* `mode` is "ro", "rw" or "review";
						      * `cache` is NULL if the word has no cache
						      * mode */
	int64_t timeout_s;
	bool moded; /* the word has a mode */
	bool timed; /* the word has a timeout, which is in `timeout_s` in seconds */
	bool locks; /* the word has the option "locks" */
};

#define SHARE_PLACE "/workspace" /* the mountpoint of a directory whose word has no /PLACE */
/* Returns true if the word has a /PLACE, even an invalid one. */
bool share_word_has_place(const char *word);
/* Parses the word. ERR_INVALID: the word has another form, or an unknown option. The caller frees
 * *out with share_word_free(). */
int share_word_parse(const char *word, struct share_word *out, struct error *err);
void share_word_free(struct share_word *word);
/* Returns true if the directory is shared for a review: it becomes an entry of config.bundles
 * (enum bundle_kind), not of config.shares. */
#define SHARE_REVIEW "review"
bool share_word_is_review(const struct share_word *word);
#define auto_share_word __attribute__((cleanup(share_word_free)))

#endif
