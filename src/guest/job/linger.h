/* SPDX-License-Identifier: MIT */
/*
 * Pipes of commands whose end was told, but to which a child in the background may still write. If
 * the agent closed such a pipe, SIGPIPE would kill the child. So the agent keeps the pipe open, and
 * reads and drops the bytes that the child writes.
 */
#ifndef GUEST_LINGER_H
#define GUEST_LINGER_H

#include "guest/job/job.h"

/* Adds a pipe and takes over `fd`, which is non-blocking. If there are LIMIT_AGENT_LINGERING pipes
 * already, only closes `fd`. */
void linger_add(struct job_table *table, int fd);
void linger_free_all(struct job_table *table);

#endif
