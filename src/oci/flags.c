/* SPDX-License-Identifier: MIT */
#include "oci/flags.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/command_line.h"

static const struct flag *find_flag(const struct flag *flags, size_t count, const char *name,
				    size_t len)
{
	for (size_t i = 0; i < count; i++) {
		const struct flag *f = &flags[i];

		if ((strlen(f->name) == len && memcmp(f->name, name, len) == 0) ||
		    (f->brief && strlen(f->brief) == len && memcmp(f->brief, name, len) == 0))
			return f;
	}
	return NULL;
}

static int take_flag_text(const struct flag *flag, const char *value, struct error *err)
{
	struct flag_texts *texts = flag->at;
	uint64_t number = 0;

	switch (flag->kind) {
	case FLAG_TEXT:
		*(const char **)flag->at = value;
		return 0;
	case FLAG_TEXTS:
		if (texts->count == FLAG_TEXTS_MAX)
			return error_set(
				err, ERR_INVALID,
				"--%s is given more than %d times, which is the limit: leave some out",
				flag->name, FLAG_TEXTS_MAX);
		texts->text[texts->count++] = value;
		return 0;
	case FLAG_NUMBER:
	case FLAG_PRESERVED:
		if (command_line_number(value, 0, INT64_MAX, &number, err) < 0)
			return error_prefix(err, "--%s", flag->name);
		if (flag->kind == FLAG_NUMBER)
			*(int64_t *)flag->at = (int64_t)number;
		else if (number > 0)
			return error_set(
				err, ERR_UNSUPPORTED,
				"--%s must be 0, because a virtual machine cannot have descriptors of the host",
				flag->name);
		return 0;
	default:
		return 0;
	}
}

/* Parses the option at **words and its value, and moves *words behind them. */
static int take_one_flag(const struct flag *flags, size_t count, char ***words, struct error *err)
{
	const char *word = **words, *name = word + 1 + (word[1] == '-');
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct flag *flag = find_flag(flags, count, name, len);

	if (!flag)
		return error_set(err, ERR_INVALID, "flag provided but not defined: %.64s", word);
	++*words;
	if (flag->kind == FLAG_GIVEN || flag->kind == FLAG_IGNORED) {
		bool is = !value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;

		if (!is && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
			return error_set(err, ERR_INVALID, "--%s must be true or false",
					 flag->name);
		if (flag->kind == FLAG_GIVEN)
			*(bool *)flag->at = is;
		return 0;
	}
	if (!value) {
		value = **words;
		if (!value)
			return error_set(err, ERR_INVALID, "flag needs an argument: %.64s", word);
		++*words;
	}
	return take_flag_text(flag, value, err);
}

/* Parses options up to the first word that is not an option. Sets *ended to true if the word "--"
 * has ended the options. */
static int take_flags(const struct flag *flags, size_t count, char ***words, bool *ended,
		      struct error *err)
{
	while (**words && (**words)[0] == '-' && (**words)[1]) {
		if (strcmp(**words, "--") == 0) {
			++*words;
			*ended = true;
			return 0;
		}
		if (take_one_flag(flags, count, words, err) < 0)
			return -1;
	}
	return 0;
}

int flags_parse(const struct flag *flags, size_t count, char ***words, struct error *err)
{
	bool ended = false;

	return take_flags(flags, count, words, &ended, err);
}

int flags_parse_command(const struct oci *oci, const struct flag *flags, size_t count, char **words,
			struct error *err)
{
	const struct oci_command *command = oci->command;
	char **from = words, **to = words;
	bool ended = false;
	size_t left;

	do {
		if (!ended && take_flags(flags, count, &from, &ended, err) < 0)
			return -1;
		ended = ended || command->most == OCI_WORDS_ANY;
		if (*from)
			*to++ = *from++;
	} while (*from);
	*to = NULL;
	left = (size_t)(to - words);
	if (left >= command->least && left <= command->most)
		return 0;
	if (command->least == command->most)
		return error_set(err, ERR_INVALID, "\"%s\" requires exactly %zu argument(s)",
				 command->name, command->least);
	if (left < command->least)
		return error_set(err, ERR_INVALID, "\"%s\" requires a minimum of %zu argument(s)",
				 command->name, command->least);
	return error_set(err, ERR_INVALID, "\"%s\" requires a maximum of %zu argument(s)",
			 command->name, command->most);
}
