/* SPDX-License-Identifier: MIT */
#include "channel/words.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

json_t *words_json(const char *const *words, struct error *err)
{
	json_auto_t *array = json_array();

	for (; *words; words++) {
		if (json_array_append_new(array, json_string(*words)) < 0) {
			error_set(err, ERR_INVALID,
				  "\"%s\" in the command is not UTF-8: write the command in UTF-8",
				  *words);
			return NULL;
		}
	}
	return steal_ptr(&array);
}

int words_env_check(const char *word, struct error *err)
{
	const char *equals = strchr(word, '=');

	if (!equals || equals == word)
		return error_set(err, ERR_INVALID,
				 "\"%s\" does not set an environment variable: write KEY=VALUE",
				 word);
	for (const char *c = word; c < equals; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return error_set(
				err, ERR_INVALID,
				"environment variable \"%s\" has a blank in its name: leave the blank out",
				word);
	}
	if (!utf8_is_whole(word, strlen(word)))
		return error_set(err, ERR_INVALID,
				 "environment variable \"%s\" is not UTF-8: write it in UTF-8",
				 word);
	return 0;
}

json_t *words_env_json(const char *const *env, struct error *err)
{
	json_auto_t *object = json_object();

	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		autobuf struct buf key = BUF_INIT(0);

		if (words_env_check(*env, err) < 0 ||
		    buf_append(&key, *env, (size_t)(equals - *env), err) < 0 ||
		    json_put_string(object, buf_string(&key), equals + 1, err) < 0)
			return NULL;
	}
	return steal_ptr(&object);
}
