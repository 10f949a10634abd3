/* SPDX-License-Identifier: MIT */
/* Finds and kills the processes of a POSIX session, for guests without cgroup v2. */
#ifndef GUEST_SESSION_H
#define GUEST_SESSION_H

#include <sys/types.h>

/* Sends SIGKILL to every process of the POSIX session. Repeats the search until no process is
 * found, but only a limited number of times. A process that has made a new POSIX session is not
 * found. */
void session_kill(pid_t session);

#endif
