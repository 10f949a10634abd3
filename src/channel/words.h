/* SPDX-License-Identifier: MIT */
/* Converts command lines and environments to the JSON of requests. */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include <jansson.h>

#include "base/error.h"

/* Returns NULL-terminated words as an array of strings; ERR_INVALID if a word is not UTF-8. */
json_t *words_json(const char *const *words, struct error *err);
/* Checks that a word is KEY=VALUE. Otherwise fails with ERR_INVALID. Also fails if KEY is empty, or
 * has a blank or a control byte. */
int words_env_check(const char *word, struct error *err);
/* Returns NULL-terminated "KEY=VALUE" words (NULL: no words) as an object. If two words have the
 * same key, the later word counts. Fails with ERR_INVALID if a word is malformed; the message names
 * the word. */
json_t *words_env_json(const char *const *env, struct error *err);

#endif
