/* SPDX-License-Identifier: MIT */
/* Explains why an ordinary process cannot make a user namespace. Cells need user namespaces. */
#ifndef BASE_USERNS_H
#define BASE_USERNS_H

#include "base/error.h"

/* Returns the first setting of the kernel that forbids user namespaces now, with the value that
 * would allow them, in the form of sysctl(8). Returns NULL if no known setting forbids them.
 * `proc_sys` is the path "/proc/sys". */
const char *userns_setting(const char *proc_sys);
/* Sets ERR_UNAVAILABLE. The message says that this process cannot make a user namespace, and what
 * the host would have to allow. *why is the error of the attempt to make one. Returns -1. */
int userns_missing(const struct error *why, struct error *err);
/* Sets ERR_UNAVAILABLE. The message has the text `said`, which bwrap has printed. If the cause is
 * known, the message also says what the host would have to allow. Returns -1. */
int userns_refused(const char *said, struct error *err);

#endif
