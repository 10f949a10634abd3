/* SPDX-License-Identifier: MIT */
/*
 * Keeps the output pipes of commands that have ended, while a child in the background may still
 * write to such a pipe. If the agent closed the pipe, SIGPIPE would kill the child. So the agent
 * keeps the pipe open, and reads and drops the bytes that the child writes.
 */
#ifndef GUEST_LINGER_H
#define GUEST_LINGER_H

#include "guest/job/job.h"

/* Adds a pipe. Takes ownership of `fd`, which is non-blocking. If there are LIMIT_AGENT_LINGERING
 * pipes already, closes `fd`. */
void linger_add(struct job_table *table, int fd);
void linger_free_all(struct job_table *table);

#endif
