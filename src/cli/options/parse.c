/* SPDX-License-Identifier: MIT */
/* Parses the words of a command line by the option table of the command. Stores the values in the
 * struct of the command's values. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cli/options/machine.h"

static const struct cli_option global_options[] = {
	{"json", 0, CLI_OPTION_FLAG, offsetof(struct cli, json), NULL,
	 "print the answer as one JSON document", 0, 0},
	{"state-dir", 0, CLI_OPTION_STRING, offsetof(struct cli, state_dir_option), "DIR",
	 "where workspaces are kept (else $MICROAGENT_STATE_DIR, else ~/.microagent)", 0, 0},
	{"help", 'h', CLI_OPTION_FLAG, offsetof(struct cli, help), NULL,
	 "print this help and do nothing", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};
const struct cli_command cli_any_command = {.options = global_options};

struct parser {
	struct cli *cli;
	/* NULL while the words before the name of the command are parsed */
	const struct cli_command *command;
	const char *const *words;
	size_t count, next;
	void *values;
	struct cli_words args;
};

const struct cli_option *cli_option_at(const struct cli_command *command, size_t index)
{
	const struct cli_option *const tables[] = {command ? command->shared : NULL,
						   command ? command->options : NULL};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct cli_option *row = tables[i]; row && row->name; row++)
			if (index-- == 0)
				return row;
	for (const struct machine_option *row = machine_options; command && row->option.name; row++)
		if (row->commands & command->machine && index-- == 0)
			return &row->option;
	return NULL;
}

const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
					 size_t len)
{
	const struct cli_option *option = NULL;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (strlen(option->name) == len && strncmp(option->name, name, len) == 0)
			break;
	return option;
}

const struct cli_option *cli_option_letter(const struct cli_command *command, char letter)
{
	const struct cli_option *option = NULL;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (option->letter && option->letter == letter)
			break;
	return option;
}

#define SUGGESTIONS_MAX 64

static size_t add_names(const struct cli_command *command, const char **names, size_t count)
{
	const struct cli_option *option;

	for (size_t i = 0; count + 1 < SUGGESTIONS_MAX && (option = cli_option_at(command, i)); i++)
		names[count++] = option->name;
	return count;
}

static int unknown_option(struct parser *p, const char *word, size_t name_len, struct error *err)
{
	const char *names[SUGGESTIONS_MAX];
	size_t count = add_names(&cli_any_command, names, 0);
	const char *near;
	char name[64];

	names[add_names(p->command, names, count)] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)name_len, word + 2);
	near = name_len ? cli_nearest(name, names) : NULL;
	if (near)
		return cli_usage(p->cli, err, "unknown option %s: did you mean --%s?", word, near);
	return cli_usage(p->cli, err,
			 "unknown option %s: `microagent %s%s--help` lists the options", word,
			 p->cli->words, p->cli->words[0] ? " " : "");
}

static int set_int(struct parser *p, const struct cli_option *option, const char *text,
		   int64_t *out, struct error *err)
{
	char *end = NULL;
	intmax_t value;

	errno = 0;
	value = strtoimax(text, &end, 10);
	if (end == text || *end || errno || value < option->min || value > option->max)
		return cli_usage(
			p->cli, err, "--%s must be a whole number from %lld to %lld, and is \"%s\"",
			option->name, (long long)option->min, (long long)option->max, text);
	*out = value;
	return 0;
}

#define CHOICE_TEXT 128

const char *cli_choice_at(const char *value, size_t index, size_t *len)
{
	if (value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-|")])
		return NULL;
	for (; index && (value = strchr(value, '|')); index--)
		value++;
	*len = value ? strcspn(value, "|") : 0;
	return value;
}

bool cli_choice_has(const char *value, const char *text)
{
	const char *word;
	size_t len;

	for (size_t i = 0; (word = cli_choice_at(value, i, &len)); i++)
		if (strlen(text) == len && strncmp(text, word, len) == 0)
			return true;
	return false;
}

/* Sets the error for a text that is not one of the choices. The error lists the choices, like
 * "auto, kvm or tcg". */
static int refuse_choice(struct parser *p, const struct cli_option *option, const char *text,
			 struct error *err)
{
	char words[CHOICE_TEXT] = "";
	const char *word;
	size_t len, next;

	for (size_t i = 0; (word = cli_choice_at(option->value, i, &len)); i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%.*s",
			 i == 0					      ? ""
			 : cli_choice_at(option->value, i + 1, &next) ? ", "
								      : " or ",
			 (int)len, word);
	return cli_usage(p->cli, err, "--%s must be %s, and is \"%s\"", option->name, words, text);
}

static int set_string(struct parser *p, const struct cli_option *option, const char *text,
		      const char **out, struct error *err)
{
	size_t len;

	if (cli_choice_at(option->value, 0, &len) && !cli_choice_has(option->value, text))
		return refuse_choice(p, option, text, err);
	*out = text;
	return 0;
}

/* Stores a text that is sent to the guest. Refuses an empty text, since the guest would use the
 * image's own value for it. */
static int set_guest(struct parser *p, const struct cli_option *option, const char *text,
		     const char **out, struct error *err)
{
	if (!*text)
		return cli_usage(p->cli, err, "--%s: \"\" is empty", option->name);
	if (!utf8_is_whole(text, strlen(text)))
		return cli_usage(
			p->cli, err,
			"--%s: \"%s\" is not UTF-8, and only UTF-8 can be sent to a guest: write it in UTF-8",
			option->name, text);
	*out = text;
	return 0;
}

/* The longest duration that is accepted, in seconds: a hundred years. */
#define DURATION_MAX (INT64_C(36525) * 86400)

/* Stores a size in bytes. K, M, G and T mean powers of 1024, as in other programs. */
static int set_size(struct parser *p, const struct cli_option *option, const char *text,
		    int64_t *out, struct error *err)
{
	static const char units[] = "KMGT";
	char *end = NULL;
	const char *unit;
	intmax_t value;
	int shift = 0;

	errno = 0;
	value = strtoimax(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		shift = 10 * (int)(unit - units + 1);
	if (end == text || (*end && (!unit || end[1])) || errno || *text < '0' || *text > '9' ||
	    value < 1 || value > INT64_MAX >> shift)
		return cli_usage(
			p->cli, err,
			"--%s must be a number of bytes, or a number with K, M, G or T behind it, and is \"%s\"",
			option->name, text);
	*out = value << shift;
	return 0;
}

/* Stores a duration in seconds. For a number that is too large strtoimax() returns the largest
 * number, which is refused. */
static int set_duration(struct parser *p, const struct cli_option *option, const char *text,
			int64_t *out, struct error *err)
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = {1, 60, 3600, 86400};
	char *end = NULL;
	const char *unit;
	intmax_t value;
	int64_t each;

	value = strtoimax(text, &end, 10);
	unit = *end ? strchr(units, *end) : units;
	each = unit ? seconds[unit - units] : 1;
	if (end != text && unit && !(*end && end[1]) && *text >= '0' && *text <= '9' &&
	    (value < 1 || value > DURATION_MAX / each))
		return cli_usage(
			p->cli, err,
			"--%s must be a time from 1s to %jdd (a hundred years), and is \"%s\"",
			option->name, (intmax_t)(DURATION_MAX / seconds[3]), text);
	if (end == text || !unit || (*end && end[1]) || *text < '0' || *text > '9')
		return cli_usage(
			p->cli, err,
			"--%s must be a number of seconds, or a number with s, m, h or d behind it, and is \"%s\"",
			option->name, text);
	*out = value * each;
	return 0;
}

static int words_add(struct cli_words *words, const char *word, struct error *err)
{
	const char **items = realloc(words->items, (words->count + 2) * sizeof(*items));

	if (!items)
		return error_errno(err, errno, "command line");
	items[words->count] = word;
	items[words->count + 1] = NULL;
	words->items = items;
	words->count++;
	return 0;
}

static int set_value(struct parser *p, const struct cli_option *option, void *base,
		     const char *value, struct error *err)
{
	void *field;

	if (!base)
		return error_set(
			err, ERR_INTERNAL,
			"the command has no place for the value of --%s: this is a bug of microagent",
			option->name);
	field = (char *)base + option->offset;
	switch (option->kind) {
	case CLI_OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case CLI_OPTION_STRING:
		return set_string(p, option, value, field, err);
	case CLI_OPTION_GUEST:
		return set_guest(p, option, value, field, err);
	case CLI_OPTION_INT:
		return set_int(p, option, value, field, err);
	case CLI_OPTION_SIZE:
		return set_size(p, option, value, field, err);
	case CLI_OPTION_DURATION:
		return set_duration(p, option, value, field, err);
	case CLI_OPTION_LIST:
		return words_add(field, value, err);
	}
	return error_set(err, ERR_INTERNAL, "option --%s has no kind: this is a bug of microagent",
			 option->name);
}

/* Sets *value to the option's value: the text after "=", or the next word. */
static int option_value(struct parser *p, const struct cli_option *option, const char *equals,
			const char **value, struct error *err)
{
	if (option->kind == CLI_OPTION_FLAG) {
		if (equals)
			return cli_usage(p->cli, err, "--%s takes no value: leave the value out",
					 option->name);
		return 0;
	}
	if (equals) {
		*value = equals + 1;
		return 0;
	}
	if (p->next == p->count)
		return cli_usage(p->cli, err, "--%s needs a value: --%s %s", option->name,
				 option->name, option->value);
	/* Refuses "--" as a value, since it begins the guest's command. In `run -u -- true` the
	 * value of -u is missing. */
	if (strcmp(p->words[p->next], "--") == 0)
		return cli_usage(p->cli, err, "--%s needs a value in front of \"--\": --%s %s",
				 option->name, option->name, option->value);
	*value = p->words[p->next++];
	return 0;
}

/* Sets the flags of a word like "-it". Returns false if one letter is not a flag of the command. */
static bool set_flags(struct parser *p, const char *letters)
{
	if (!p->values)
		return false;
	for (const char *letter = letters; *letter; letter++) {
		const struct cli_option *option = cli_option_letter(p->command, *letter);

		if (!option || option->kind != CLI_OPTION_FLAG)
			return false;
	}
	for (; *letters; letters++)
		*(bool *)((char *)p->values + cli_option_letter(p->command, *letters)->offset) =
			true;
	return true;
}

static int parse_option(struct parser *p, const char *word, struct error *err)
{
	const struct cli_option *option = NULL, *global = NULL;
	bool is_long = word[1] == '-';
	const char *equals = is_long ? strchr(word, '=') : NULL;
	size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
	const char *value = ""; /* a flag has no value */

	if (is_long) {
		option = cli_option_find(p->command, word + 2, len);
		global = option ? NULL : cli_option_find(&cli_any_command, word + 2, len);
	} else if (word[2] == '\0') {
		option = cli_option_letter(p->command, word[1]);
		global = option ? NULL : cli_option_letter(&cli_any_command, word[1]);
	} else if (set_flags(p, word + 1)) {
		return 0;
	}
	if (!option && !global)
		return unknown_option(p, word, is_long ? len : 0, err);
	if (option_value(p, option ? option : global, equals, &value, err) < 0)
		return -1;
	return set_value(p, option ? option : global, option ? p->values : (void *)p->cli, value,
			 err);
}

/* Adds all remaining words to the arguments. They are the words of the guest's command. */
static int take_rest(struct parser *p, struct error *err)
{
	while (p->next < p->count) {
		if (words_add(&p->args, p->words[p->next++], err) < 0)
			return -1;
	}
	return 0;
}

static int parse_words(struct parser *p, struct error *err)
{
	const struct cli_command *c = p->command;

	while (p->next < p->count) {
		const char *word = p->words[p->next];

		if (strcmp(word, "--") == 0) {
			p->next++;
			return c ? take_rest(p, err) : 0;
		}
		if (word[0] != '-' || word[1] == '\0') {
			/* Stops at the first word that is not an option if the command is not known
			 * yet, since that word names the command. */
			if (!c || (c->takes_command && p->args.count == c->plain_args))
				return c ? take_rest(p, err) : 0;
			if (words_add(&p->args, word, err) < 0)
				return -1;
			p->next++;
			continue;
		}
		p->next++;
		if (parse_option(p, word, err) < 0)
			return -1;
	}
	return 0;
}

static int check_args(const struct parser *p, struct error *err)
{
	const struct cli_command *c = p->command;

	if (p->cli->help)
		return 0;
	if (p->args.count < c->min_args)
		return cli_usage(p->cli, err, "%s needs more words: microagent %s %s",
				 p->cli->words, p->cli->words, c->args ? c->args : "");
	if (p->args.count > c->max_args)
		return cli_usage(
			p->cli, err,
			"%s does not take the word \"%s\": `microagent %s --help` shows what it takes",
			p->cli->words, p->args.items[c->max_args], p->cli->words);
	return 0;
}

int cli_parse(struct cli *cli, const struct cli_command *command, const char *const *words,
	      size_t count, void *values, struct cli_words *args, struct error *err)
{
	struct parser p = {
		.cli = cli, .command = command, .words = words, .count = count, .values = values};

	if (parse_words(&p, err) < 0 || check_args(&p, err) < 0) {
		free(p.args.items);
		cli_values_free(command, values);
		return -1;
	}
	*args = p.args;
	return 0;
}

int cli_parse_global(struct cli *cli, const char *const *words, size_t count, size_t *used,
		     struct error *err)
{
	struct parser p = {.cli = cli, .words = words, .count = count};

	if (parse_words(&p, err) < 0) {
		free(p.args.items);
		return -1;
	}
	free(p.args.items);
	*used = p.next;
	return 0;
}

void cli_values_free(const struct cli_command *command, void *values)
{
	const struct cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		struct cli_words *list = (void *)((char *)values + option->offset);

		if (option->kind == CLI_OPTION_LIST) {
			free(list->items);
			*list = (struct cli_words){0};
		}
	}
}
