/* SPDX-License-Identifier: MIT */
/* The subordinate ids that /etc/subuid and /etc/subgid give to users (subuid(5)). */
#ifndef BASE_SUBIDS_H
#define BASE_SUBIDS_H

#include <sys/types.h>

#define SUBIDS_TEXT "--add-subuids 100000-165535 --add-subgids 100000-165535"

/* Returns the first id that such a file gives to the user of this process; 0 if there is no id. */
unsigned long subids_own(const char *path);
/* Returns the first id that the text of such a file gives to a user. The text may name the user by
 * name or by user id. Returns 0 if the user gets no id. */
unsigned long subids_first(const char *text, const char *user, uid_t uid);

#endif
