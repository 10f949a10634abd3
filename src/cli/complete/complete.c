/* SPDX-License-Identifier: MIT */
/*
 * Completes the last word of a command line. The position of a word tells what the word may become:
 * a command, an option, an option's value, or an argument that the command's `args` has at this
 * position. The completion files of the shells, which are in this folder, run this code at each
 * Tab. This file has no list of commands or options: it uses the tables of the parser and of the
 * help.
 */
#include <string.h>

#include "base/print_safe.h"
#include "cli/complete/complete.h"

/* Returns true if the word can be printed as a candidate. A candidate is one line, so it may
 * contain no control character. */
static bool is_offerable(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)word[i] < ' ' || word[i] == 0x7f)
			return false;
	return len > 0;
}

void complete_word(const struct completion *c, const char *word, size_t len, const char *about)
{
	size_t typed = strlen(c->typed);

	if (!is_offerable(word, len) || len < typed || strncmp(word, c->typed, typed) != 0)
		return;
	fprintf(c->out, "%.*s%.*s\t", (int)c->front_len, c->front, (int)len, word);
	print_safe(c->out, about ? about : "");
	putc('\n', c->out);
}

void complete_commands(const struct completion *c, const struct cli_command *const *commands)
{
	for (; *commands; commands++)
		complete_word(c, (*commands)->name, strlen((*commands)->name),
			      (*commands)->summary);
}

static void complete_options(const struct completion *c, const struct cli_command *command)
{
	const struct cli_option *option;
	char word[64], about[256];

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		snprintf(word, sizeof(word), "--%s", option->name);
		snprintf(about, sizeof(about), "%s%s%s", option->value ? option->value : "",
			 option->value ? ": " : "", option->help);
		complete_word(c, word, strlen(word), about);
	}
}

/* --- candidates from the tables of commands and options --------------------------------------- */

/* Prints the candidates for a value that the tables describe, such as "nat|isolated", "IMAGE",
 * "npm|pypi|FILE" or "DIR[:/PLACE[:OPTIONS]]". A description with several parts, like
 * "NAME=PATH:/DIR:ro|rw", is treated as one kind of value. */
static void complete_value(const struct completion *c, const char *value)
{
	char part[64];

	if (strpbrk(value, ":=")) {
		complete_kind(c, value, strcspn(value, "["));
		return;
	}
	while (value) {
		size_t len = strcspn(value, "|"), word_len;

		snprintf(part, sizeof(part), "%.*s", (int)len, value);
		if (cli_choice_at(part, 0, &word_len))
			complete_word(c, part, word_len, NULL);
		else
			complete_kind(c, part, strlen(part));
		value = value[len] ? value + len + 1 : NULL;
	}
}

struct args_word {
	/* the word, such as "NAME"; "" if the guest's command or another alternative begins here */
	char text[64];
	bool repeats;
};

/* Reads the first word of `args`, which is a text like "NAME [[--] CMD [WORD...]]". Returns the
 * text after this word. */
static const char *args_word(const char *args, struct args_word *out)
{
	size_t len;

	args += strspn(args, " [");
	len = strcspn(args, " []");
	out->repeats = len > 3 && strncmp(args + len - 3, "...", 3) == 0;
	snprintf(out->text, sizeof(out->text), "%.*s", (int)(out->repeats ? len - 3 : len), args);
	if (strcmp(out->text, "--") == 0 || strcmp(out->text, "|") == 0)
		out->text[0] = '\0';
	return args + strcspn(args, " ");
}

/* Prints the candidates for the word after c->args. `args` is one alternative of cli_command.args.
 * Prints nothing if c->args do not match this alternative. */
static void complete_alternative(const struct completion *c, const char *args)
{
	struct args_word word;

	for (size_t i = 0; i <= c->count; i++) {
		size_t len;

		args = args_word(args, &word);
		if (!word.text[0])
			return;
		if (i == c->count || word.repeats) {
			complete_value(c, word.text);
			return;
		}
		/* A fixed word, like "get" of `artifacts get`, must be typed exactly. */
		if (cli_choice_at(word.text, 0, &len) && !cli_choice_has(word.text, c->args[i]))
			return;
	}
}

static void complete_args(const struct completion *c, const char *args)
{
	while (args) {
		complete_alternative(c, args);
		args = strstr(args, " | ");
		args = args ? args + 3 : NULL;
	}
}

/* --- the words before the word to complete --------------------------------------------------- */

struct place {
	/* the table of commands to which the next word belongs; NULL: the next word is not a
	 * command */
	const struct cli_command *const *table;
	/* the option whose value is the next word; NULL: the next word is not a value */
	const struct cli_option *wants;
	/* true: a "--" came before, so the next word is not an option */
	bool words_only;
	/* true: there are no candidates, since a guest's command or an unknown word came before */
	bool lost;
};

static const struct cli_option *find_option(const struct completion *c, const char *word,
					    const char **equals)
{
	const struct cli_command *const commands[] = {c->command, &cli_any_command};
	const struct cli_option *option = NULL;
	size_t len = strcspn(word, "=");

	*equals = word[1] == '-' && word[len] ? word + len : NULL;
	for (size_t i = 0; !option && i < 2; i++)
		option = word[1] == '-'	       ? cli_option_find(commands[i], word + 2, len - 2)
			 : word[1] && !word[2] ? cli_option_letter(commands[i], word[1])
					       : NULL;
	return option;
}

static void pass_value(struct completion *c, const struct cli_option *option, const char *value)
{
	if (strcmp(option->name, "state-dir") == 0)
		c->state_dir = value;
}

static void pass_option(struct place *p, struct completion *c, const char *word)
{
	const struct cli_option *option;
	const char *equals;

	if (strcmp(word, "--") == 0) {
		p->lost = c->command && c->command->takes_command;
		p->words_only = !p->table;
		return;
	}
	option = find_option(c, word, &equals);
	if (option && equals)
		pass_value(c, option, equals + 1);
	else if (option && option->kind != CLI_OPTION_FLAG)
		p->wants = option;
}

static void pass_command(struct place *p, struct completion *c, const char *word)
{
	c->command = cli_find(p->table, word);
	p->table = c->command ? c->command->sub : NULL;
	p->lost = !c->command;
}

static void pass_word(struct place *p, struct completion *c, const char *word)
{
	const struct cli_option *wants = p->wants;

	p->wants = NULL;
	if (wants)
		pass_value(c, wants, word);
	else if (!p->words_only && word[0] == '-' && word[1])
		pass_option(p, c, word);
	else if (p->table)
		pass_command(p, c, word);
	else if ((c->command->takes_command && c->count == c->command->plain_args) ||
		 c->count == COMPLETE_ARGS)
		p->lost = true;
	else
		c->args[c->count++] = word;
}

static void complete_typed(const struct place *p, struct completion *c)
{
	const struct cli_option *option;
	const char *equals;

	if (p->wants) {
		complete_value(c, p->wants->value);
	} else if (c->typed[0] != '-' || p->words_only) {
		if (p->table)
			complete_commands(c, p->table);
		else
			complete_args(c, c->command->args);
	} else if ((option = find_option(c, c->typed, &equals)) && equals) {
		c->front = c->typed;
		c->front_len = (size_t)(equals + 1 - c->typed);
		c->typed = equals + 1;
		if (option->value)
			complete_value(c, option->value);
	} else {
		complete_options(c, c->command);
		complete_options(c, &cli_any_command);
	}
}

void cli_complete(FILE *out, const char *const *words, size_t count)
{
	struct completion c = {.out = out, .typed = count ? words[count - 1] : "", .front = ""};
	struct place place = {.table = cli_commands};

	for (size_t i = 0; i + 1 < count && !place.lost; i++)
		pass_word(&place, &c, words[i]);
	if (!place.lost)
		complete_typed(&place, &c);
}
