/* SPDX-License-Identifier: MIT */
/*
 * A line: one connection to a guest's agent on which any number of threads wait for their own
 * requests. There is no reading thread. Whoever waits first leads: it reads for all until its own
 * request has ended, wakes those whose requests have, and leaves the lead to one of the others.
 *
 * When the guest breaks the protocol or the connection ends, every request on the line fails with
 * the reason, and the line is of no use any more.
 */
#ifndef CHANNEL_LINE_H
#define CHANNEL_LINE_H

#include "channel/calls.h"

struct line_request {
	const struct agent_exec *exec;
	const void *in; /* bytes of stdin; exec->stdin_open says whether there are any */
	size_t in_len;
	size_t cap[CALL_OUTPUTS];
	/* Called by the waiting thread, with the line's lock held: only for lines that nobody
	 * shares. While it is at work nothing is read, and so the command waits too. */
	int (*output)(void *data, enum call_output which, const void *bytes, size_t len);
	void (*on_start)(void *data);
	void *data;
	uint64_t deadline_ns; /* on the monotonic clock; UINT64_MAX: none */
	int cancel;	      /* when readable the command is ended; -1: never */
	bool hasty;	      /* at the deadline nothing more is waited for */
};

struct line_outcome {
	struct agent_exit exit;
	char *kept[CALL_OUTPUTS]; /* malloc'd, with a NUL behind; NULL with `output` */
	size_t len[CALL_OUTPUTS];
	bool truncated[CALL_OUTPUTS];
	bool timed_out, cancelled; /* why we ended it, if we did */
};
void line_outcome_free(struct line_outcome *outcome);

struct line;
/* Connects to <dirfd>/vsock.sock; the guest is reached later, by the first request. Errors as of
 * sock_connect_at(). */
struct line *line_new(int dirfd, struct error *err);
void line_free(struct line *line); /* ends what still runs on it; accepts NULL */
/* Whether another request can be made on it. Looks at what has arrived on a quiet line. */
bool line_is_usable(struct line *line);
/* Whether it is as good as new: usable, and nothing is left to be sent. */
bool line_is_clean(struct line *line);

/*
 * Waits for the end of the command. ERR_TIMEOUT when the guest was not reached in time, or did not
 * confirm the end of a command within CANCEL_MS after its deadline or cancellation; the others on
 * the line are not disturbed, but it takes no more requests, and when it is freed the command is
 * killed too.
 */
int line_run(struct line *line, const struct line_request *request, struct line_outcome *outcome,
	     struct error *err);

#endif
