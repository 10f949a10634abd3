/* SPDX-License-Identifier: MIT */
#include "channel/line.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

/* A thread and its request. */
struct waiter {
	struct agent_call call; /* first: calls_next() gives it back */
	const struct line_request *request;
	int wake; /* eventfd: its call has ended, the line has broken, or it is to lead */
	size_t in_sent;
	bool in_closed;
	uint64_t deadline_ns; /* of the request, then of the confirmation */
	bool stopping;	      /* its command is being ended */
	bool given_up;	      /* without confirmation */
	bool timed_out, cancelled;
	struct waiter *next;
};

struct line {
	pthread_mutex_t lock;
	int fd;
	struct calls calls;
	struct waiter *waiters;
	struct waiter *leader;	   /* who reads; NULL: nobody */
	bool retired;		   /* a command was left on it */
	bool broken;		   /* for the reason of `why` */
	uint64_t dial_deadline_ns; /* by which the guest must have been reached */
	struct error why;
};

void line_outcome_free(struct line_outcome *outcome)
{
	for (int i = 0; i < CALL_OUTPUTS; i++)
		free(outcome->kept[i]);
	*outcome = (struct line_outcome){0};
}

struct line *line_new(int dirfd, struct error *err)
{
	autoclose int fd = sock_connect_at(dirfd, "vsock.sock", err);
	struct line *line = fd < 0 ? NULL : calloc(1, sizeof(*line));

	if (fd < 0)
		return NULL;
	if (!line || calls_init(&line->calls, err) < 0) {
		free(line);
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	pthread_mutex_init(&line->lock, NULL);
	line->fd = steal_fd(&fd);
	line->dial_deadline_ns = limit_deadline(LIMIT_DIAL_MS);
	return line;
}

void line_free(struct line *line)
{
	if (!line)
		return;
	close(line->fd);
	calls_free(&line->calls);
	pthread_mutex_destroy(&line->lock);
	free(line);
}

static void wake(const struct waiter *waiter)
{
	const uint64_t one = 1;

	/* It cannot fail but for a count of 2^64, which wakes just as well. */
	(void)!write(waiter->wake, &one, sizeof(one));
}

static void break_line(struct line *line, const struct error *why)
{
	if (line->broken)
		return;
	line->broken = true;
	line->why = *why;
	for (struct waiter *w = line->waiters; w; w = w->next)
		wake(w);
}

/* --- the connection -------------------------------------------------------------------------- */

static void send_queued(struct line *line)
{
	struct buf *out = &line->calls.out;
	struct error why;

	while (out->len > 0 && !line->broken) {
		ssize_t n = send(line->fd, buf_bytes(out), out->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			buf_consume(out, (size_t)n);
		} else if (errno == EPIPE || errno == ECONNRESET) {
			/* What the guest said before (an exit, an error) may still be waiting to be
			 * read, and says more than this. */
			buf_consume(out, out->len);
		} else if (errno != EINTR) {
			if (errno != EAGAIN) {
				error_errno(&why, errno, "cannot send to the guest");
				break_line(line, &why);
			}
			return;
		}
	}
}

static int take_messages(struct line *line, struct error *err)
{
	struct agent_call *ended;
	int got;

	while ((got = calls_next(&line->calls, &ended, err)) > 0)
		if (ended)
			wake((struct waiter *)ended);
	return got;
}

static int lost(const struct line *line, struct error *err)
{
	return error_set(err, ERR_UNAVAILABLE,
			 line->calls.reached
				 ? "the connection to the guest was lost"
				 : "cannot reach the guest: it refuses connections to its agent");
}

static void receive(struct line *line)
{
	size_t room = 0;
	struct error why = {0};
	uint8_t *space = calls_space(&line->calls, &room, &why);
	ssize_t n = space ? recv(line->fd, space, room, MSG_DONTWAIT) : -1;

	if (space && n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		buf_commit(&line->calls.in, (size_t)n);
		n = take_messages(line, &why) < 0 ? -1 : n;
	} else if (n == 0 || (space && errno == ECONNRESET)) {
		n = lost(line, &why);
	} else if (space) {
		error_errno(&why, errno, "cannot receive from the guest");
	}
	if (n < 0)
		break_line(line, &why);
}

/* --- one request ----------------------------------------------------------------------------- */

static bool has_stdin(const struct waiter *w)
{
	return w->request->exec->stdin_open && !w->in_closed && !w->stopping && !w->call.ended;
}

/* The next of its stdin, as much as the agent and the queue take. */
static int queue_stdin(struct line *line, struct waiter *w, struct error *err)
{
	const struct line_request *request = w->request;
	const uint8_t *in = request->in;

	if (!has_stdin(w))
		return 0;
	while (w->in_sent < request->in_len) {
		size_t left = request->in_len - w->in_sent;
		size_t room = calls_stdin_room(&line->calls, &w->call);
		size_t n = left < room ? left : room;

		if (n == 0)
			return 0;
		if (calls_stdin(&line->calls, &w->call, in + w->in_sent, n, err) < 0)
			return -1;
		w->in_sent += n;
	}
	w->in_closed = true;
	return calls_stdin_close(&line->calls, &w->call, err);
}

/* The next of everybody's. Whoever reads hears that a command has taken some, and queues the more
 * for its waiter, who sleeps on. */
static bool queue_all_stdin(struct line *line)
{
	size_t before = line->calls.out.len;
	struct error why = {0};

	for (struct waiter *w = line->waiters; w && !line->broken; w = w->next)
		if (queue_stdin(line, w, &why) < 0)
			break_line(line, &why);
	return line->calls.out.len > before;
}

/* Sends until the connection takes no more, or there is no more: what is left in the queue is what
 * the leader's poll() waits for, which may be asleep without knowing of it. */
static void push(struct line *line, const struct waiter *w)
{
	bool more;

	do {
		more = queue_all_stdin(line);
		send_queued(line);
	} while (more && line->calls.out.len == 0 && !line->broken);
	if (line->calls.out.len > 0 && line->leader && line->leader != w)
		wake(line->leader);
}

/* Ends the command before its time. */
static void stop(struct line *line, struct waiter *w, bool *why)
{
	struct error err = {0};

	if (w->stopping || w->call.ended)
		return;
	*why = true;
	w->stopping = true;
	/* Nothing runs where nobody was asked. */
	w->given_up = w->request->hasty || !line->calls.reached;
	w->deadline_ns = limit_deadline(LIMIT_CANCEL_MS);
	if (w->given_up)
		return;
	if (calls_cancel(&line->calls, &w->call, &err) < 0)
		break_line(line, &err);
}

static void look_at_clock(struct line *line, struct waiter *w)
{
	uint64_t now = clock_mono_ns();
	struct error why;

	if (!line->calls.reached && !line->broken && now >= line->dial_deadline_ns) {
		error_set(&why, ERR_TIMEOUT,
			  "the guest does not answer: no connection to its "
			  "agent within %llu ms",
			  (unsigned long long)limit_get(LIMIT_DIAL_MS));
		break_line(line, &why);
	}
	if (now < w->deadline_ns || w->call.ended)
		return;
	if (w->stopping)
		w->given_up = true;
	else
		stop(line, w, &w->timed_out);
}

static int time_left_ms(const struct line *line, const struct waiter *w)
{
	uint64_t until = w->deadline_ns, now = clock_mono_ns();

	if (!line->calls.reached && line->dial_deadline_ns < until)
		until = line->dial_deadline_ns;
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	return until - now > INT32_MAX / 2 * NS_PER_MS ? INT32_MAX / 2
						       : (int)((until - now) / NS_PER_MS) + 1;
}

enum slot { SLOT_WAKE, SLOT_CANCEL, SLOT_LINE, SLOT_COUNT };

/* Waits without the lock; the leader waits for the connection too. */
static void wait_slots(struct line *line, const struct waiter *w, struct pollfd slots[SLOT_COUNT])
{
	short events = line->calls.out.len > 0 ? POLLIN | POLLOUT : POLLIN;
	int timeout_ms = time_left_ms(line, w);

	slots[SLOT_WAKE] = (struct pollfd){.fd = w->wake, .events = POLLIN};
	slots[SLOT_CANCEL] =
		(struct pollfd){.fd = w->stopping ? -1 : w->request->cancel, .events = POLLIN};
	slots[SLOT_LINE] =
		(struct pollfd){.fd = line->leader == w ? line->fd : -1, .events = events};
	pthread_mutex_unlock(&line->lock);
	if (poll(slots, SLOT_COUNT, timeout_ms) < 0)
		for (int i = 0; i < SLOT_COUNT; i++)
			slots[i].revents = 0;
	pthread_mutex_lock(&line->lock);
}

static void round_once(struct line *line, struct waiter *w)
{
	struct pollfd slots[SLOT_COUNT];
	uint64_t count;

	if (!line->leader)
		line->leader = w;
	wait_slots(line, w, slots);
	if (slots[SLOT_WAKE].revents)
		(void)!read(w->wake, &count, sizeof(count));
	if (slots[SLOT_CANCEL].revents)
		stop(line, w, &w->cancelled);
	if (!line->broken && (slots[SLOT_LINE].revents & (POLLIN | POLLHUP | POLLERR)))
		receive(line);
	if (w->call.refused)
		stop(line, w, &w->cancelled);
	look_at_clock(line, w);
	if (!line->broken)
		push(line, w);
}

static int begin(struct line *line, struct waiter *w, struct error *err)
{
	if (line->broken) {
		if (err)
			*err = line->why;
		return -1;
	}
	if (calls_begin(&line->calls, &w->call, w->request->exec, err) < 0)
		return -1;
	w->next = line->waiters;
	line->waiters = w;
	push(line, w);
	return 0;
}

/* Every way out of line_run() comes by here: somebody must read for those who stay. */
static void leave(struct line *line, struct waiter *w)
{
	struct waiter **link = &line->waiters;

	while (*link && *link != w)
		link = &(*link)->next;
	if (*link)
		*link = w->next;
	if (w->call.number && !w->call.ended) {
		calls_abandon(&line->calls, &w->call);
		line->retired = true;
	}
	if (line->leader == w)
		line->leader = NULL;
	if (!line->leader && line->waiters)
		wake(line->waiters);
}

static int unanswered(const struct line *line, const struct waiter *w, struct error *err)
{
	if (!line->calls.reached)
		return error_set(err, ERR_TIMEOUT,
				 "the guest does not answer: %s before its agent "
				 "was reached",
				 w->cancelled ? "cancelled" : "the time was over");
	return error_set(err, ERR_TIMEOUT,
			 "the guest does not answer: %s, and the end of the command was not "
			 "confirmed within %llu ms",
			 w->cancelled ? "cancelled" : "the time is over",
			 (unsigned long long)limit_get(LIMIT_CANCEL_MS));
}

static int take_kept(struct waiter *w, struct line_outcome *out, struct error *err)
{
	for (int i = 0; i < CALL_OUTPUTS; i++) {
		out->truncated[i] = w->call.truncated[i];
		out->len[i] = w->call.kept[i].len;
		if (w->request->output)
			continue;
		out->kept[i] = buf_steal_string(&w->call.kept[i], err);
		if (!out->kept[i])
			return -1;
	}
	return 0;
}

static int conclude(const struct line *line, struct waiter *w, struct line_outcome *outcome,
		    struct error *err)
{
	struct line_outcome out = {
		.exit = w->call.exit, .timed_out = w->timed_out, .cancelled = w->cancelled};

	if (!w->call.ended && line->broken) {
		if (err)
			*err = line->why;
		return -1;
	}
	if (!w->call.ended)
		return unanswered(line, w, err);
	if (take_kept(w, &out, err) < 0) {
		line_outcome_free(&out);
		return -1;
	}
	*outcome = out;
	return 0;
}

int line_run(struct line *line, const struct line_request *request, struct line_outcome *outcome,
	     struct error *err)
{
	struct waiter w = {
		.call = {.output = request->output,
			 .on_start = request->on_start,
			 .data = request->data,
			 .cap = {request->cap[CALL_STDOUT], request->cap[CALL_STDERR]}},
		.request = request,
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.deadline_ns = request->deadline_ns,
	};
	int status;

	if (w.wake < 0)
		return error_errno(err, errno, "eventfd");
	pthread_mutex_lock(&line->lock);
	status = begin(line, &w, err);
	while (status == 0 && !w.call.ended && !line->broken && !w.given_up)
		round_once(line, &w);
	leave(line, &w);
	if (status == 0)
		status = conclude(line, &w, outcome, err);
	pthread_mutex_unlock(&line->lock);
	close(w.wake);
	agent_call_free(&w.call);
	return status;
}

bool line_is_usable(struct line *line)
{
	bool usable;

	pthread_mutex_lock(&line->lock);
	/* With somebody at it the news is his. */
	if (!line->waiters && !line->broken)
		receive(line);
	usable = !line->broken && !line->retired;
	pthread_mutex_unlock(&line->lock);
	return usable;
}

bool line_is_clean(struct line *line)
{
	bool clean = line_is_usable(line);

	pthread_mutex_lock(&line->lock);
	clean = clean && line->calls.out.len == 0 && line->calls.count == 0;
	pthread_mutex_unlock(&line->lock);
	return clean;
}
