/* SPDX-License-Identifier: MIT */
#include "cli/options/rlimit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define UNLIMITED "unlimited"

/* Returns the first `len` bytes of `text` as JSON: a number, or "unlimited". Returns NULL if they
 * are neither. */
static json_t *limit_json(const char *text, size_t len)
{
	char *end = NULL;
	long long value;

	if (len == strlen(UNLIMITED) && strncmp(text, UNLIMITED, len) == 0)
		return json_string(UNLIMITED);
	errno = 0;
	value = strtoll(text, &end, 10);
	if (len == 0 || errno || value < 0 || end != text + len)
		return NULL;
	return json_integer(value);
}

/* Adds the limit in `word` to the object. Returns 0 if it was added; 1 if `word` is wrong; -1 with
 * an error if memory is short. */
static int add_word(json_t *object, const char *word, struct error *err)
{
	json_auto_t *limit = json_object();
	const char *equals = strchr(word, '=');
	const char *soft = equals ? equals + 1 : NULL;
	const char *colon = soft ? strchr(soft, ':') : NULL;
	const char *hard = colon ? colon + 1 : soft;
	json_t *soft_json, *hard_json;

	if (!soft || equals == word)
		return 1;
	autofree char *name = strndup(word, (size_t)(equals - word));
	soft_json = limit_json(soft, strcspn(soft, ":"));
	hard_json = limit_json(hard, strlen(hard));
	if (!soft_json || !hard_json) {
		json_decref(soft_json);
		json_decref(hard_json);
		return 1;
	}
	if (json_put(limit, "soft", soft_json, err) < 0) {
		json_decref(hard_json);
		return -1;
	}
	if (json_put(limit, "hard", hard_json, err) < 0)
		return -1;
	if (!name)
		return error_errno(err, ENOMEM, "--rlimit");
	return json_put(object, name, steal_ptr(&limit), err);
}

int rlimit_words(struct cli *cli, const struct cli_words *words, json_t **out, struct error *err)
{
	json_auto_t *object = json_object();

	for (size_t i = 0; i < words->count; i++) {
		int got = add_word(object, words->items[i], err);

		if (got > 0)
			return cli_usage(
				cli, err,
				"--rlimit must be NAME=SOFT or NAME=SOFT:HARD, like nofile=4096, with a number or unlimited for SOFT and HARD, and is \"%.100s\"",
				words->items[i]);
		if (got < 0)
			return -1;
	}
	*out = words->count ? steal_ptr(&object) : NULL;
	return 0;
}
