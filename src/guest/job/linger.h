/* SPDX-License-Identifier: MIT */
/*
 * Pipes of commands that have ended and told so, to which a child in the background still writes.
 * Closing a pipe would kill the child by SIGPIPE, but such children live on: what they write is
 * read and dropped.
 */
#ifndef GUEST_LINGER_H
#define GUEST_LINGER_H

#include "guest/job/job.h"

/* Takes over fd (non-blocking). If there are LIMIT_AGENT_LINGERING already, closes it instead. */
void linger_add(struct job_table *table, int fd);
void linger_free_all(struct job_table *table);

#endif
