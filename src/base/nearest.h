/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* Returns the entry of `names` (NULL-terminated) that is probably meant by the mistyped `word`;
 * NULL if no entry is similar. An entry is similar if it differs from `word` only in upper and
 * lower case, or by at most two typing errors. A typing error is an additional letter, a missing
 * letter, a wrong letter, or two exchanged neighbours. The number of errors must also be less than
 * half of the length of each of the two words. */
const char *nearest_name(const char *word, const char *const *names);

#endif
