/* SPDX-License-Identifier: MIT */
/* The subordinate ids that /etc/subuid and /etc/subgid give to users (subuid(5)). */
#ifndef BASE_SUBIDS_H
#define BASE_SUBIDS_H

#include <sys/types.h>

#define SUBIDS_TEXT "--add-subuids 100000-165535 --add-subgids 100000-165535"

/* The first id of the user that we are in such a file; 0: none. */
unsigned long subids_own(const char *path);
/* The first id of user (or of its number) in the text of one; 0: none. */
unsigned long subids_first(const char *text, const char *user, uid_t uid);

#endif
