/* SPDX-License-Identifier: MIT */
/*
 * Pipes whose command has ended and told so, but which a child in the background still writes to.
 * Closing them would kill it by SIGPIPE, and such children live on: what they write is read and
 * dropped.
 */
#ifndef GUEST_LINGER_H
#define GUEST_LINGER_H

#include "guest/job/job.h"

/* Takes over fd (non-blocking). Above LIMIT_AGENT_LINGERING it is closed instead. */
void linger_add(struct job_table *table, int fd);
void linger_free_all(struct job_table *table);

#endif
