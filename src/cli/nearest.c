/* SPDX-License-Identifier: MIT */
/* The word that was probably meant. */
#include <string.h>

#include "cli/cli.h"

#define WORD_MAX 32 /* longer words are not ours */
#define DISTANCE_MAX 2
#define PREFIX 3

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein's distance, one row at a time; WORD_MAX for a word that is too long. */
static size_t distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t alen = strlen(a), blen = strlen(b);

	if (alen > WORD_MAX || blen > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t above = row[j];

			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[blen];
}

static const char *only_with_prefix(const char *word, const char *const *names)
{
	const char *found = NULL;

	if (strlen(word) < PREFIX)
		return NULL;
	for (; *names; names++) {
		if (strncmp(word, *names, PREFIX) != 0)
			continue;
		if (found)
			return NULL;
		found = *names;
	}
	return found;
}

const char *cli_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t best_distance = DISTANCE_MAX + 1;

	for (size_t i = 0; names[i]; i++) {
		size_t d = distance(word, names[i]);

		/* Two letters of a word of two are another word, not a slip. */
		if (d < best_distance && d < strlen(word)) {
			best = names[i];
			best_distance = d;
		}
	}
	return best ? best : only_with_prefix(word, names);
}
