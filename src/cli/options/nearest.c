/* SPDX-License-Identifier: MIT */
/* The word that was probably meant. */
#include <string.h>

#include "cli/cli.h"

#define WORD_MAX 32 /* longer words are not ours */
#define DISTANCE_MAX 2
#define PREFIX 3

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Of the next letters: a letter too many, one that is missing, another one. */
static size_t one_slip(const size_t *before, const size_t *row, size_t j, bool same)
{
	return least(least(before[j] + 1, row[j - 1] + 1), before[j - 1] + !same);
}

/* Levenshtein's distance, in which two letters that changed places are one slip; WORD_MAX for a
 * word that is too long. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[WORD_MAX + 1][WORD_MAX + 1];
	size_t alen = strlen(a), blen = strlen(b);

	if (alen > WORD_MAX || blen > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= blen; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= alen; i++) {
		rows[i][0] = i;
		for (size_t j = 1; j <= blen; j++) {
			rows[i][j] = one_slip(rows[i - 1], rows[i], j, a[i - 1] == b[j - 1]);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[alen][blen];
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

		/* Where half of the letters differ it is another word, not a slip. */
		if (d < best_distance && 2 * d < least(strlen(word), strlen(names[i]))) {
			best = names[i];
			best_distance = d;
		}
	}
	return best ? best : only_with_prefix(word, names);
}
