/* SPDX-License-Identifier: MIT */
#include "base/argv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void argv_free(struct argv *argv)
{
	for (size_t i = 0; i < argv->count; i++)
		free(argv->words[i]);
	free(argv->words);
	*argv = (struct argv)ARGV_INIT;
}

/* Makes room for one more word and the NULL after it. Returns false if there is no memory. */
static bool grow_words(struct argv *argv)
{
	if (argv->count + 2 <= argv->cap)
		return true;
	size_t cap = argv->cap ? argv->cap * 2 : 64;
	char **words = array_resize(argv->words, cap, sizeof(*words));
	if (!words)
		return false;
	argv->words = words;
	argv->cap = cap;
	return true;
}

/* Adds `word`, which must be malloc'd, without a copy. Frees it if it cannot be added. `word` is
 * NULL if its allocation has failed. */
static void add_owned(struct argv *argv, char *word)
{
	if (argv->failed || !word || !grow_words(argv)) {
		free(word);
		argv->failed = true;
		return;
	}
	argv->words[argv->count++] = word;
	argv->words[argv->count] = NULL;
}

void argv_add(struct argv *argv, const char *word)
{
	add_owned(argv, strdup(word));
}

void argv_addf(struct argv *argv, const char *fmt, ...)
{
	char *word;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&word, fmt, ap) < 0)
		word = NULL;
	va_end(ap);
	add_owned(argv, word);
}

void argv_add_list(struct argv *argv, const char *const *words)
{
	for (; *words; words++)
		argv_add(argv, *words);
}

const char *const *argv_finish(struct argv *argv, struct error *err)
{
	if (argv->failed || !grow_words(argv)) {
		error_errno(err, ENOMEM, "command line");
		return NULL;
	}
	argv->words[argv->count] = NULL;
	return (const char *const *)argv->words;
}
