/* SPDX-License-Identifier: MIT */
/* The lines to one guest: which one a request takes, and when another is dialled. Any thread. */
#ifndef CHANNEL_LINES_H
#define CHANNEL_LINES_H

#include <pthread.h>

#include "channel/line.h"

/* Quiet lines for requests of their own that are kept open. */
#define LINES_IDLE 4

struct shared_line; /* a line and how many use it */

struct lines {
	pthread_mutex_t lock;
	int dirfd; /* the workspace's; borrowed */
	struct shared_line *shared;
	struct line *idle[LINES_IDLE];
	size_t idle_count;
};

void lines_init(struct lines *lines, int dirfd);
/* No request may be under way. */
void lines_free(struct lines *lines);
/* line_run() on a line: one of its own for what has `output`, else one that up to CALLS_MAX
 * requests share. */
int lines_run(struct lines *lines, const struct line_request *request, struct line_outcome *outcome,
	      struct error *err);

#endif
