/* SPDX-License-Identifier: MIT */
/*
 * Pipes of commands whose end was told to their owners, but to which a child in the background may
 * still write. If the agent closed such a pipe, the child would be killed by SIGPIPE. So the agent
 * keeps the pipe open, reads the bytes that the child writes, and drops them.
 */
#ifndef GUEST_LINGER_H
#define GUEST_LINGER_H

#include "guest/job/job.h"

/* Adds a pipe. Takes over `fd`, which is non-blocking. If there are LIMIT_AGENT_LINGERING pipes
 * already, closes `fd` instead. */
void linger_add(struct job_table *table, int fd);
void linger_free_all(struct job_table *table);

#endif
