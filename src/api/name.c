/* SPDX-License-Identifier: MIT */
/* Checks names of workspaces and variables, and makes random names. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/platform/system.h"
#include "channel/words.h"

#define NAME_MAX_BYTES 63

static const char *const adjectives[] = {
	"amber", "brave", "brisk", "calm",  "clear", "crisp", "deft",  "eager",
	"early", "fair",  "fast",  "fond",  "glad",  "green", "happy", "keen",
	"kind",	 "light", "lucid", "merry", "mild",  "neat",  "noble", "plain",
	"proud", "quick", "quiet", "sharp", "still", "sunny", "swift", "wise",
};
static const char *const animals[] = {
	"badger", "beaver", "bison", "crane", "crow",	"deer",	 "dove",  "eagle",
	"falcon", "ferret", "finch", "fox",   "gecko",	"goose", "hare",  "heron",
	"ibex",	  "jay",    "koala", "lark",  "lemur",	"lynx",	 "mole",  "moose",
	"newt",	  "otter",  "owl",   "panda", "puffin", "raven", "robin", "seal",
};

int name_random(char out[NAME_ROOM], struct error *err)
{
	unsigned char bytes[4];

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return -1;
	snprintf(out, NAME_ROOM, "run-%s-%s-%02x%02x",
		 adjectives[bytes[0] % ARRAY_SIZE(adjectives)],
		 animals[bytes[1] % ARRAY_SIZE(animals)], bytes[2], bytes[3]);
	return 0;
}

static bool is_letter_or_digit(char c)
{
	return isascii((unsigned char)c) && isalnum((unsigned char)c);
}

static const char *what_is_wrong(const char *name)
{
	if (!*name)
		return "it is empty";
	if (strlen(name) > NAME_MAX_BYTES)
		return "it is longer than 63 bytes";
	if (!is_letter_or_digit(name[0]))
		return "it must begin with a letter or digit";
	for (const char *c = name; *c; c++) {
		if (!is_letter_or_digit(*c) && !strchr("._-", *c))
			return "only letters, digits, '.', '_' and '-' are allowed";
	}
	if (runtime_id_is_reserved(name))
		return "the state directory uses it itself";
	return NULL;
}

int microagent_check_name(const char *name, struct error *err)
{
	const char *wrong = what_is_wrong(name);

	if (wrong)
		return error_set(err, ERR_INVALID,
				 "\"%.128s\" cannot be a workspace's name: %s; choose another",
				 name, wrong);
	return 0;
}

int microagent_check_env(const char *word, struct error *err)
{
	return words_env_check(word, err);
}
