/* SPDX-License-Identifier: MIT */
/*
 * Names options in errors. The library and the supervisor name a wrong value by its field of the
 * request. A user who typed an option knows nothing of requests, so the terminal shows the option.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* The options of fields. option is NULL for a word of the command. A field stands before each
 * shorter field with which it begins. */
static const struct {
	const char *field, *option, *words;
} fields[] = {
	{"base.size", "size", "--size"},
	{"config.accelerator", "accelerator", "--accelerator"},
	{"config.architecture", "arch", "--arch"},
	{"config.bundles", "bundle", "--bundle"},
	{"config.command[0]", NULL, "the command's first word"},
	{"config.command", NULL, "the command"},
	{"config.cpuCount", "cpus", "--cpus"},
	{"config.disks", "disk", "--disk"},
	{"config.env", "env", "--env"},
	{"config.initrdPath", "initrd", "--initrd"},
	{"config.kernelPath", "kernel", "--kernel"},
	{"config.limits.diskBytesPerSecond", "disk-rate", "--disk-rate"},
	{"config.limits.diskOpsPerSecond", "disk-ops", "--disk-ops"},
	{"config.limits.netBytesPerSecond", "net-rate", "--net-rate"},
	{"config.mediation", "mediation", "--mediation"},
	{"config.memoryMiB", "memory", "--memory"},
	{"config.network.allow", "allow", "--allow"},
	{"config.network.egress", "egress", "--egress"},
	{"config.network.interface", "network-interface", "--network-interface"},
	{"config.network.mode", "network", "--network"},
	{"config.network.portForwards need", "publish", "--publish needs"},
	{"config.network.portForwards", "publish", "--publish"},
	{"config.outputs", "output", "--output"},
	{"config.rootfsPath", "image", "--image"},
	{"config.shares[0].cache", "share-cache", "--share-cache"},
	{"config.shares[0].mountpoint", "share-at", "--share-at"},
	{"config.shares[0].timeoutSeconds", "share-timeout", "--share-timeout"},
	{"config.shares", "share", "--share"},
	{"config.stateDir", NULL, "--state-dir"},
	{"config.hotplug", NULL, "--no-share"},
	{"config.timeoutSeconds", "timeout", "--timeout"},
	{"config.user", "user", "--user"},
	{"config.vsockListeners", "vsock", "--vsock"},
	{"egress.from", "egress-from", "--egress-from"},
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
	{"memoryMiB", NULL, "MIB"},	    /* of `balloon` */
	{"session.diskQuota", NULL, "MIB"}, /* of `session quota` */
};

/* Finds the first place in text where field stands as a whole word. Returns NULL if there is none.
 */
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

/* Replaces len bytes at at by words. Text beyond the end of the message is cut. Returns the place
 * behind the words. */
static char *replace(struct error *err, char *at, size_t len, const char *words)
{
	char rest[sizeof(err->msg)];
	size_t room = sizeof(err->msg) - (size_t)(at - err->msg);
	size_t taken = strlen(words);

	snprintf(rest, sizeof(rest), "%s", at + len);
	snprintf(at, room, "%s%s", words, rest);
	return at + (taken < room ? taken : room - 1);
}

/* Replaces an index like "[1]" of an option that was given more than once by the word that was
 * given there. Returns the number of bytes of text that are replaced. */
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

/* Replaces an index like "[1]" by its number for people, counted from 1. It is for an option that
 * was given when the workspace was made, because the word is not known here. Returns the number of
 * bytes of text that are replaced. */
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

/* Writes the word of an option that is given once: its path is all that the user typed. Returns the
 * number of bytes of text that are replaced. */
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

/* Writes a member like ".hostPort" to out as "the host port of ". Returns the number of bytes of
 * text that are replaced. */
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

#define VALUE_SHOWN 300 /* how much of the typed text is shown; the reason follows it */

/* Replaces the field at at, with its index and member, by words. */
static char *name_option(struct error *err, char *at, size_t row, const struct cli_option *option,
			 const void *values)
{
	const char *word = NULL;
	char member[64] = "", number[32] = "", text[VALUE_SHOWN + 128];
	size_t len = strlen(fields[row].field);

	len += given_word(at + len, option, values, &word);
	len += number_word(at + len, values, number, sizeof(number));
	if (*number)
		word = number;
	len += only_word(at + len, option, values, &word);
	/* The members of env are names that the user chose. */
	if (option && option->kind == CLI_OPTION_LIST && strcmp(option->name, "env") == 0 &&
	    at[len] == '.') {
		len++;
		word = "";
	} else {
		len += member_words(at + len, member, sizeof(member));
	}
	snprintf(text, sizeof(text), "%s%s%s%.*s", member, fields[row].words, word ? " " : "",
		 VALUE_SHOWN, word ? word : "");
	return replace(err, at, len, text);
}

/* Returns true if a member belongs to a word of the option. If only one item is given, a member of
 * the first item can have an option of its own. If that option was not given, the member is part of
 * a word. */
static bool is_of_word(const char *field, const struct cli_option *option, const void *values)
{
	const char *value = (const char *)values + (option ? option->offset : 0);

	if (!option || !values || !strstr(field, "[0]."))
		return false;
	if (option->kind == CLI_OPTION_STRING)
		return !*(const char *const *)(const void *)value;
	return option->kind == CLI_OPTION_INT && !*(const int64_t *)(const void *)value;
}

/* Returns the command's option of that row, or NULL. command may be NULL. */
static const struct cli_option *option_of(const struct cli_command *command, size_t row)
{
	const char *name = fields[row].option;

	return name ? cli_option_find(command, name, strlen(name)) : NULL;
}

bool cli_name_options(const struct cli_command *command, const void *values, struct error *err)
{
	const struct cli_command *maker = strstr(err->msg, "config.") ? &cli_create : NULL;
	bool about_option = false;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct cli_option *own = option_of(command, i);
		const struct cli_option *option = own ? own : option_of(maker, i);
		const void *given = own || !fields[i].option ? values : NULL;
		char *at = err->msg;

		if ((fields[i].option && !option) || is_of_word(fields[i].field, option, given))
			continue;
		while ((at = find_field(at, fields[i].field)) != NULL) {
			about_option = about_option || (at == err->msg && option == own);
			at = name_option(err, at, i, option, given);
		}
	}
	return about_option && err->code == ERR_INVALID;
}
