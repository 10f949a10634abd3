/* SPDX-License-Identifier: MIT */
/* Why an ordinary process may make no user namespace, on which cells stand. */
#ifndef BASE_USERNS_H
#define BASE_USERNS_H

/* The setting, as sysctl(8) takes it, that would allow it: of the first that forbids it now. NULL:
 * none that we know of. proc_sys: "/proc/sys". */
const char *userns_setting(const char *proc_sys);

#endif
