/* SPDX-License-Identifier: MIT */
#include "channel/lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct shared_line {
	struct line *line;
	size_t users;
	bool finished; /* takes no more; freed by its last user */
	struct shared_line *next;
};

void lines_init(struct lines *lines, int dirfd)
{
	*lines = (struct lines){.dirfd = dirfd};
	pthread_mutex_init(&lines->lock, NULL);
}

void lines_free(struct lines *lines)
{
	while (lines->shared) {
		struct shared_line *first = lines->shared;

		lines->shared = first->next;
		line_free(first->line);
		free(first);
	}
	while (lines->idle_count > 0)
		line_free(lines->idle[--lines->idle_count]);
	pthread_mutex_destroy(&lines->lock);
}

/* --- shared ---------------------------------------------------------------------------------- */

static void drop_if_finished(struct lines *lines, struct shared_line *shared)
{
	struct shared_line **link = &lines->shared;

	if (!shared->finished || shared->users > 0)
		return;
	while (*link != shared)
		link = &(*link)->next;
	*link = shared->next;
	line_free(shared->line);
	free(shared);
}

/* The first with room. What has broken is left to its users. */
static struct shared_line *find_shared(struct lines *lines)
{
	struct shared_line *next;

	for (struct shared_line *s = lines->shared; s; s = next) {
		next = s->next;
		if (!s->finished && s->users < CALLS_MAX && line_is_usable(s->line))
			return s;
		s->finished = s->finished || !line_is_usable(s->line);
		drop_if_finished(lines, s);
	}
	return NULL;
}

static struct shared_line *add_shared(struct lines *lines, struct error *err)
{
	struct shared_line *shared = calloc(1, sizeof(*shared));

	if (!shared) {
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	shared->line = line_new(lines->dirfd, err);
	if (!shared->line) {
		free(shared);
		return NULL;
	}
	shared->next = lines->shared;
	lines->shared = shared;
	return shared;
}

static struct shared_line *take_shared(struct lines *lines, struct error *err)
{
	struct shared_line *shared;

	pthread_mutex_lock(&lines->lock);
	shared = find_shared(lines);
	if (!shared)
		shared = add_shared(lines, err);
	if (shared)
		shared->users++;
	pthread_mutex_unlock(&lines->lock);
	return shared;
}

static void give_back_shared(struct lines *lines, struct shared_line *shared)
{
	pthread_mutex_lock(&lines->lock);
	shared->users--;
	shared->finished = shared->finished || !line_is_usable(shared->line);
	drop_if_finished(lines, shared);
	pthread_mutex_unlock(&lines->lock);
}

/* --- of its own ------------------------------------------------------------------------------ */

static struct line *take_own(struct lines *lines, struct error *err)
{
	struct line *line;

	do {
		pthread_mutex_lock(&lines->lock);
		line = lines->idle_count > 0 ? lines->idle[--lines->idle_count] : NULL;
		pthread_mutex_unlock(&lines->lock);
		if (line && line_is_usable(line))
			return line;
		line_free(line);
	} while (line);
	return line_new(lines->dirfd, err);
}

static void give_back_own(struct lines *lines, struct line *line)
{
	if (line_is_clean(line)) {
		pthread_mutex_lock(&lines->lock);
		if (lines->idle_count < LINES_IDLE)
			lines->idle[lines->idle_count++] = steal_ptr(&line);
		pthread_mutex_unlock(&lines->lock);
	}
	line_free(line);
}

int lines_run(struct lines *lines, const struct line_request *request, struct line_outcome *outcome,
	      struct error *err)
{
	struct shared_line *shared;
	struct line *own;
	int status;

	if (request->output) {
		own = take_own(lines, err);
		if (!own)
			return -1;
		status = line_run(own, request, outcome, err);
		give_back_own(lines, own);
		return status;
	}
	shared = take_shared(lines, err);
	if (!shared)
		return -1;
	status = line_run(shared->line, request, outcome, err);
	give_back_shared(lines, shared);
	return status;
}
