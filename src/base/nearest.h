/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* Finds the entry of names (NULL-terminated) that word was probably meant to be. That is the same
 * word in other case, or one that at most two slips make of it: a letter too many, a letter that is
 * missing, another letter, or two neighbours that changed places. Two slips or one are no slips
 * where they are half of either word's letters. Returns NULL when no entry is near. */
const char *nearest_name(const char *word, const char *const *names);

#endif
