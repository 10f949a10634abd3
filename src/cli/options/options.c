/* SPDX-License-Identifier: MIT */
/*
 * Puts the names of options into error messages. The library and the supervisor name a wrong value
 * by its field in the request. The user has typed an option and does not see the request. So the
 * message must name the option.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options/machine.h"

struct field_words {
	const char *field, *option, *words;
};

/* The words by which fields that are not in machine_options are replaced; that table is searched
 * first. `option` is NULL if a word of the command that is not an option sets the field. If one
 * field begins with another field, the longer field comes first. */
static const struct field_words fields[] = {
	{"base.size", "size", "--size"},
	{"config.bundles (review)", "share", "--share"},
	{"config.bundles", "bundle", "--bundle"},
	{"config.command[0]", NULL, "the command's first word"},
	{"config.command", NULL, "the command"},
	{"config.env", "env", "--env"},
	{"config.initrdPath", "initrd", "--initrd"},
	{"config.kernelPath", "kernel", "--kernel"},
	{"config.network.portForwards need", "publish", "--publish needs"},
	{"config.outputs", "output", "--output"},
	{"config.rootfsPath", "image", "--image"},
	{"config.shares[0].cache", "share-cache", "--share-cache"},
	{"config.shares[0].mountpoint", "share-at", "--share-at"},
	{"config.shares[0].timeoutSeconds", "share-timeout", "--share-timeout"},
	{"config.stateDir", NULL, "--state-dir"},
	{"config.hotplug", NULL, "--no-share"},
	{"config.timeoutSeconds", "timeout", "--timeout"},
	{"config.user", "user", "--user"},
	{"mode \"bridged\"", "network", "--network bridged"},
	{"mode \"nat\" or \"bridged\"", "network", "--network nat or bridged"},
	{"mode \"nat\"", "network", "--network nat"},
	{"mode is", "network", "--network is"},
	{"pool.cpus", "cpus", "--cpus"},
	{"pool.size", "size", "--size"},
	{"session.cpus", "cpus", "--cpus"},
	{"session.diskQuota", "disk-quota", "--disk-quota"},
	{"session.memory", "memory", "--memory"},
	{"shares[0].cache", "cache", "--cache"},
	{"shares[0].mountpoint", "at", "--at"},
	{"shares[0].timeoutSeconds", "timeout", "--timeout"},
	{"memoryMiB", NULL, "MIB"},	    /* an argument of `balloon` */
	{"session.diskQuota", NULL, "MIB"}, /* an argument of `session quota` */
};

/* Returns the first place in `text` where `field` is a whole word; NULL if there is none. */
static char *find_field(char *text, const char *field)
{
	size_t len = strlen(field);

	for (char *at = text; (at = strstr(at, field)) != NULL; at += len) {
		bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '.');

		if (begins && !isalnum((unsigned char)at[len]))
			return at;
	}
	return NULL;
}

/* Replaces the `len` bytes at `at` by `words`. Cuts the end of the message if it becomes too long.
 * Returns a pointer behind these words. */
static char *replace(struct error *err, char *at, size_t len, const char *words)
{
	char rest[sizeof(err->msg)];
	size_t room = sizeof(err->msg) - (size_t)(at - err->msg);
	size_t taken = strlen(words);

	snprintf(rest, sizeof(rest), "%s", at + len);
	snprintf(at, room, "%s%s", words, rest);
	return at + (taken < room ? taken : room - 1);
}

/* Finds the word that the user typed for an index like "[1]", if this command line has it. Sets
 * *word to that word. Returns how many bytes of `text` must be replaced by it; 0: there is no such
 * word. */
static size_t given_word(const char *text, const struct cli_option *option, const void *values,
			 const char **word)
{
	const struct cli_words *given;
	unsigned long index;
	char *end;

	if (*text != '[' || !isdigit((unsigned char)text[1]) || !option || !values ||
	    option->kind != CLI_OPTION_LIST)
		return 0;
	given = (const void *)((const char *)values + option->offset);
	index = strtoul(text + 1, &end, 10);
	if (*end != ']' || index >= given->count)
		return 0;
	*word = given->items[index];
	return (size_t)(end + 1 - text);
}

/* Writes a text for an index like "[1]" to `out`, such as "number 2". This is for an option that
 * was given when the workspace was made: the word that the user typed then is not known here.
 * Returns how many bytes of `text` must be replaced; 0: `text` is not such an index. */
static size_t number_word(const char *text, const void *values, char *out, size_t size)
{
	unsigned long index;
	char *end;

	if (*text != '[' || !isdigit((unsigned char)text[1]) || values)
		return 0;
	index = strtoul(text + 1, &end, 10);
	if (*end != ']')
		return 0;
	snprintf(out, size, "number %lu", index + 1);
	return (size_t)(end + 1 - text);
}

/* Sets *word to the value of an option that has only one value. The field has the form "[0].path",
 * but the user typed only the path. Returns how many bytes of `text` must be replaced by the value;
 * 0: this is not such a field. */
static size_t only_word(const char *text, const struct cli_option *option, const void *values,
			const char **word)
{
	static const char path[] = "[0].path";

	if (!option || !values || option->kind != CLI_OPTION_STRING ||
	    strncmp(text, path, strlen(path)) != 0)
		return 0;
	*word = *(const char *const *)(const void *)((const char *)values + option->offset);
	return strlen(path);
}

/* Writes words for a member like ".hostPort" to `out`, such as "the host port of ". Returns how
 * many bytes of `text` must be replaced; 0: `text` does not begin with such a member. */
static size_t member_words(const char *text, char *out, size_t size)
{
	size_t len = 1, used;

	if (*text != '.' || !islower((unsigned char)text[1]))
		return 0;
	used = (size_t)snprintf(out, size, "the ");
	for (; isalnum((unsigned char)text[len]) && used + 8 < size; len++) {
		if (isupper((unsigned char)text[len]))
			out[used++] = ' ';
		out[used++] = (char)tolower((unsigned char)text[len]);
	}
	snprintf(out + used, size - used, " of ");
	return len;
}

#define VALUE_SHOWN 300 /* how many bytes of the typed word an error shows at most */

/* Replaces the field at `at`, together with its index and member, by words. Returns a pointer
 * behind these words. */
static char *name_option(struct error *err, char *at, const struct field_words *field,
			 const struct cli_option *option, const void *values)
{
	const char *word = NULL;
	char member[64] = "", number[32] = "", text[VALUE_SHOWN + 128];
	size_t len = strlen(field->field);

	len += given_word(at + len, option, values, &word);
	len += number_word(at + len, values, number, sizeof(number));
	if (*number)
		word = number;
	len += only_word(at + len, option, values, &word);
	/* Keeps the name of the variable after "env.", since the user has chosen that name. */
	if (option && option->kind == CLI_OPTION_LIST && strcmp(option->name, "env") == 0 &&
	    at[len] == '.') {
		len++;
		word = "";
	} else {
		len += member_words(at + len, member, sizeof(member));
	}
	snprintf(text, sizeof(text), "%s%s%s%.*s", member, field->words, word ? " " : "",
		 VALUE_SHOWN, word ? word : "");
	return replace(err, at, len, text);
}

/* Returns true if the field is a part of the value of the option. A member of the first item may
 * have a separate option, like --share-at. If that option was not given, the member comes from the
 * value. */
static bool is_of_word(const char *field, const struct cli_option *option, const void *values)
{
	const char *value = (const char *)values + (option ? option->offset : 0);

	if (!option || !values || !strstr(field, "[0]."))
		return false;
	if (option->kind == CLI_OPTION_STRING)
		return !*(const char *const *)(const void *)value;
	return option->kind == CLI_OPTION_INT && !*(const int64_t *)(const void *)value;
}

/* Returns the command's option with this name; NULL if there is none. `command` and `name` may be
 * NULL. */
static const struct cli_option *option_of(const struct cli_command *command, const char *name)
{
	return name ? cli_option_find(command, name, strlen(name)) : NULL;
}

/* Replaces one field by its option everywhere in the message. If `command` has no such option, the
 * option of `maker` is named. `maker` is the command that makes workspaces, or NULL. Returns true
 * if the message begins with the field, and the option belongs to `command`. */
static bool name_field(const struct cli_command *command, const struct cli_command *maker,
		       const void *values, const struct field_words *field, struct error *err)
{
	const struct cli_option *own = option_of(command, field->option);
	const struct cli_option *option = own ? own : option_of(maker, field->option);
	const void *given = own || !field->option ? values : NULL;
	bool begins = false;
	char *at = err->msg;

	if ((field->option && !option) || is_of_word(field->field, option, given))
		return false;
	while ((at = find_field(at, field->field)) != NULL) {
		begins = begins || (at == err->msg && option == own);
		at = name_option(err, at, field, option, given);
	}
	return begins;
}

bool cli_name_options(const struct cli_command *command, const void *values, struct error *err)
{
	const struct cli_command *maker = strstr(err->msg, "config.") ? &cli_create : NULL;
	bool about_option = false;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		about_option |= name_field(command, maker, values, &fields[i], err);
	for (const struct machine_option *row = machine_options; row->option.name; row++) {
		char words[64];

		if (!row->field)
			continue;
		snprintf(words, sizeof(words), "--%s", row->option.name);
		about_option |=
			name_field(command, maker, values,
				   &(struct field_words){row->field, row->option.name, words}, err);
	}
	return about_option && err->code == ERR_INVALID;
}
