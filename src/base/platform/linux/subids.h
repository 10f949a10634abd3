/* SPDX-License-Identifier: MIT */
/* The subordinate ids that /etc/subuid and /etc/subgid give to users (subuid(5)). */
#ifndef BASE_SUBIDS_H
#define BASE_SUBIDS_H

#include <sys/types.h>

#define SUBIDS_TEXT "--add-subuids 100000-165535 --add-subgids 100000-165535"

/* Returns the first id of this process's user in such a file; 0 if there is none. */
unsigned long subids_own(const char *path);
/* Returns the first id of user (by name or number) in the text of such a file; 0 if there is
 * none. */
unsigned long subids_first(const char *text, const char *user, uid_t uid);

#endif
