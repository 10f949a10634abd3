/* SPDX-License-Identifier: MIT */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

/* A variable of the environment, unless the program has more rights than who set it; NULL: there is
 * none. */
const char *environment_own(const char *name);

#endif
