/* SPDX-License-Identifier: MIT */
/*
 * Puts options into error messages. The library and the supervisor name a wrong value by its field
 * in the request. The user has typed an option and does not see the request, so the message must
 * name the option.
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

/* The words for fields that are not in machine_options. machine_options is searched first. `option`
 * is NULL if the field stands for a word of the command. If one field begins with another one, the
 * longer field comes first. */
static const struct field_words fields[] = {
	{"base.size", "size", "--size"},
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
	{"memoryMiB", NULL, "MIB"},	    /* the argument of `balloon` */
	{"session.diskQuota", NULL, "MIB"}, /* the argument of `session quota` */
};

/* Returns the first place in text where field stands as a whole word, or NULL if there is none. */
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

/* Replaces the `len` bytes at `at` by words. The message is cut if it becomes too long. Returns the
 * place after the words. */
static char *replace(struct error *err, char *at, size_t len, const char *words)
{
	char rest[sizeof(err->msg)];
	size_t room = sizeof(err->msg) - (size_t)(at - err->msg);
	size_t taken = strlen(words);

	snprintf(rest, sizeof(rest), "%s", at + len);
	snprintf(at, room, "%s%s", words, rest);
	return at + (taken < room ? taken : room - 1);
}

/* Finds the typed word for an index like "[1]", if the option was given on this command line. Sets
 * *word to this word. Returns how many bytes of text the word replaces. */
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

/* Writes an index like "[1]" to out as a number that counts from 1. The number is for an option
 * that was given when the workspace was made: the typed word is not known here. Returns how many
 * bytes of text the number replaces. */
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

/* Sets *word to the value of an option that is given only once. The user typed only the path, so
 * "[0].path" is replaced by the value. Returns how many bytes of text are replaced. */
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

/* Writes a member like ".hostPort" to out as "the host port of ". Returns how many bytes of text
 * are replaced. */
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

#define VALUE_SHOWN 300 /* the most bytes of the typed text that are shown */

/* Replaces the field at `at`, with its index and its member, by the words for it. Returns the place
 * after these words. */
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
	/* A member of env has a name that the user chose, so this name stays in the message. */
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

/* Returns true if the field is a member of the word that the option has. A member of the first item
 * can have an option of its own, like --share-at. If that option was not given, the member is part
 * of the word. */
static bool is_of_word(const char *field, const struct cli_option *option, const void *values)
{
	const char *value = (const char *)values + (option ? option->offset : 0);

	if (!option || !values || !strstr(field, "[0]."))
		return false;
	if (option->kind == CLI_OPTION_STRING)
		return !*(const char *const *)(const void *)value;
	return option->kind == CLI_OPTION_INT && !*(const int64_t *)(const void *)value;
}

/* Returns the option of the command with this name, or NULL. command and name may be NULL. */
static const struct cli_option *option_of(const struct cli_command *command, const char *name)
{
	return name ? cli_option_find(command, name, strlen(name)) : NULL;
}

/* Replaces one field by its option wherever the message contains the field. `maker` is the command
 * whose options are named if `command` has no such option; it may be NULL. Returns true if the
 * message begins with the field, and the option is one of `command`. */
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
