/* SPDX-License-Identifier: MIT */
/* Command lines and environments as the JSON of requests. */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include <jansson.h>

#include "base/error.h"

/* NULL-terminated words as an array of strings; ERR_INVALID for one that is not UTF-8. */
json_t *words_json(const char *const *words, struct error *err);
/* ERR_INVALID for a word that is not KEY=VALUE: no name, or a blank or control byte in it. */
int words_env_check(const char *word, struct error *err);
/* NULL-terminated "KEY=VALUE" words (NULL: none) as an object; of equal keys the last wins.
 * ERR_INVALID names a word that is none. */
json_t *words_env_json(const char *const *env, struct error *err);

#endif
