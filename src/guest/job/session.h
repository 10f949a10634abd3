/* SPDX-License-Identifier: MIT */
/* Finds and kills the processes of a session, for guests without cgroup v2. */
#ifndef GUEST_SESSION_H
#define GUEST_SESSION_H

#include <sys/types.h>

/* Sends SIGKILL to every process of the session, until a look finds none (the number of looks is
 * limited). A process that made a session of its own is not found. */
void session_kill(pid_t session);

#endif
