/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* Returns the entry of `names` (NULL-terminated) that the writer of `word` has probably meant; NULL
 * if no entry is near. An entry is near if it differs from `word` only in upper and lower case, or
 * by at most two slips of the finger. A slip is a letter too many, a missing letter, a wrong
 * letter, or two neighbours that changed places. In short words the slips must also be fewer than
 * half of the letters of each of the two words. */
const char *nearest_name(const char *word, const char *const *names);

#endif
