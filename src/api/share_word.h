/* SPDX-License-Identifier: MIT */
/* The word by which people ask for a shared directory: DIR[:/PLACE[:OPTION,...]]. */
#ifndef API_SHARE_WORD_H
#define API_SHARE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The parts of the word. Whether such a share is possible is not checked here. */
struct share_word {
	/* Malloc'd; the pointers below point into this text. */
	char *text;
	const char *dir, *mountpoint, *mode, *cache; /* mode is "ro" or "rw"; `cache` is NULL if
						      * the word does not name one */
	int64_t timeout_s;
	bool timed; /* the word has a timeout, `timeout_s` */
	bool locks; /* the word has the option "locks" */
};

#define SHARE_PLACE "/workspace" /* mountpoint of a directory whose word names no place */
/* Returns whether the word names a place, valid or not. */
bool share_word_has_place(const char *word);
/* Parses the word. ERR_INVALID: the word has another form, or an unknown option. The caller frees
 * *out with share_word_free(). */
int share_word_parse(const char *word, struct share_word *out, struct error *err);
void share_word_free(struct share_word *word);
#define auto_share_word __attribute__((cleanup(share_word_free)))

#endif
