/* SPDX-License-Identifier: MIT */
/* Why an ordinary process may make no user namespace, on which cells stand. */
#ifndef BASE_USERNS_H
#define BASE_USERNS_H

#include "base/error.h"

/* The setting, as sysctl(8) takes it, that would allow it: of the first that forbids it now. NULL:
 * none that we know of. proc_sys: "/proc/sys". */
const char *userns_setting(const char *proc_sys);
/* ERR_UNAVAILABLE: this process can have none, and what the host would have to allow. why: what
 * was met. Returns -1. */
int userns_missing(const struct error *why, struct error *err);
/* ERR_UNAVAILABLE: bwrap's own words, and what the host would have to allow, as far as that can be
 * seen. Returns -1. */
int userns_refused(const char *said, struct error *err);

#endif
