/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/min.h"

/* The greatest length of a word, in bytes. No name in this project is longer. */
#define LETTERS_MAX 64
#define SLIPS_MAX 2

/* Counts the typing errors by which two words differ: wrong, missing, additional, or exchanged
 * neighbouring letters (the Damerau-Levenshtein distance). Returns SIZE_MAX for a word of more than
 * LETTERS_MAX bytes. */
static size_t count_slips(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);
	size_t rows[3][LETTERS_MAX + 1]; /* row i of the table is rows[i % 3]; the algorithm needs
					  * only a row and the two rows before it */

	if (m > LETTERS_MAX || n > LETTERS_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3];

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = min_size(min_size(now[j - 1], before[j]) + 1,
					  before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = min_size(now[j], rows[(i + 1) % 3][j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

const char *nearest_name(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t best_slips = SLIPS_MAX + 1;

	for (; *names; names++) {
		size_t slips = strcasecmp(word, *names) == 0 ? 0 : count_slips(word, *names);

		if (slips < best_slips && 2 * slips < min_size(strlen(word), strlen(*names))) {
			best = *names;
			best_slips = slips;
		}
	}
	return best;
}
