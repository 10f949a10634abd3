/* SPDX-License-Identifier: MIT */
/* Explains why an ordinary process may make no user namespace, which cells need. */
#ifndef BASE_USERNS_H
#define BASE_USERNS_H

#include "base/error.h"

/* Returns the first setting that forbids user namespaces now, with the value that would allow them,
 * in the form of sysctl(8). NULL if no known setting forbids them. proc_sys: "/proc/sys". */
const char *userns_setting(const char *proc_sys);
/* Sets ERR_UNAVAILABLE: this process can have no user namespace, and what the host would have to
 * allow. why is the failure that was met. Returns -1. */
int userns_missing(const struct error *why, struct error *err);
/* Sets ERR_UNAVAILABLE with bwrap's own message, and what the host would have to allow, as far as
 * that is visible. Returns -1. */
int userns_refused(const char *said, struct error *err);

#endif
