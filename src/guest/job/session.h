/* SPDX-License-Identifier: MIT */
/* Killing a session's processes by looking them up, for guests without cgroup v2. */
#ifndef GUEST_SESSION_H
#define GUEST_SESSION_H

#include <sys/types.h>

/* SIGKILL to every process whose session is this one, until a look finds none (bounded). A process
 * that made a session of its own is out of reach. */
void session_kill(pid_t session);

#endif
