/* SPDX-License-Identifier: MIT */
#include "channel/shared_connection.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/platform/waitable.h"
#include "channel/connection.h"

/* A thread that waits for the end of its request. */
struct waiter {
	struct agent_call call; /* must be the first member, because a pointer to the call is also
				 * used as a pointer to the waiter */
	const struct shared_request *request;
	int wake; /* a wake (wake_open()), which is raised when the call has ended, when the
		   * connection has broken, or when this waiter becomes the leader */
	size_t in_sent;
	bool in_closed;
	uint64_t deadline_ns; /* the deadline of the request; after a cancel, the deadline for the
			       * guest's report that the command has ended */
	bool refused;	      /* true: the callback of the request refused output */
	bool stopping;	      /* true: the command is being ended early */
	bool given_up;	      /* true: the waiter does not wait for the guest's report that the
			       * command has ended */
	bool timed_out, cancelled;
	struct list_link link;
};

struct shared_connection {
	pthread_mutex_t lock;
	struct connection connection;
	struct list waiters;
	struct waiter *leader;	   /* the waiter that reads from the connection; NULL: no waiter
				    * reads */
	bool retired;		   /* true: the connection accepts no more requests, because an
				    * unfinished command was left on it */
	bool broken;		   /* true: the connection cannot be used any more, for the reason
				    * `why` */
	uint64_t dial_deadline_ns; /* the time by which the guest must have answered the dial
				    * (dial.h) */
	struct error why;
};

struct shared_connection *shared_connection_new(int dirfd, struct error *err)
{
	struct shared_connection *shared = calloc(1, sizeof(*shared));

	if (!shared) {
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	if (connection_open(&shared->connection, dirfd, err) < 0) {
		connection_close(&shared->connection);
		free(shared);
		return NULL;
	}
	pthread_mutex_init(&shared->lock, NULL);
	list_init(&shared->waiters);
	shared->dial_deadline_ns = limit_deadline(LIMIT_DIAL_MS);
	return shared;
}

void shared_connection_free(struct shared_connection *shared)
{
	if (!shared)
		return;
	connection_close(&shared->connection);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

static void shared_break(struct shared_connection *shared, const struct error *why)
{
	const struct waiter *w;

	if (shared->broken)
		return;
	shared->broken = true;
	shared->why = *why;
	list_each (w, &shared->waiters, link)
		wake_raise(w->wake);
}

/* --- the connection -------------------------------------------------------------------------- */

static int give_item(const struct call_item *item, struct error *err)
{
	struct waiter *w = (struct waiter *)item->call;
	const struct microagent_callbacks *callbacks = w->request->callbacks;

	if (item->kind == CALL_EXITED) {
		wake_raise(w->wake);
	} else if (item->kind != CALL_OUTPUT) {
		if (callbacks && callbacks->started)
			callbacks->started(callbacks->data);
	} else if (!w->refused && item->len > 0) {
		if (!callbacks)
			return agent_call_keep(item, err);
		w->refused = callbacks->output(callbacks->data, item->output, item->bytes,
					       item->len) != 0;
	}
	return 0;
}

static int shared_take_items(struct shared_connection *shared, struct error *err)
{
	struct calls *calls = &shared->connection.calls;
	struct call_item item;
	int got;

	while ((got = calls_next(calls, &item, err)) > 0)
		if (give_item(&item, err) < 0)
			return -1;
	if (got == 0 && shared->connection.ended)
		return error_set(
			err, ERR_UNAVAILABLE,
			calls->reached
				? "the connection to the guest was lost: the machine may have ended"
				: "the guest refuses connections to its agent: the agent has ended, or does not listen yet");
	return got;
}

static void shared_receive(struct shared_connection *shared)
{
	struct error why = {0};

	if (connection_receive(&shared->connection, &why) < 0 ||
	    shared_take_items(shared, &why) < 0)
		shared_break(shared, &why);
}

/* --- one request ----------------------------------------------------------------------------- */

/* Queues the next part of a waiter's stdin, as much as the agent and the queue can take. Closes
 * stdin after the last part. */
static int queue_stdin(struct shared_connection *shared, struct waiter *w, struct error *err)
{
	const struct shared_request *request = w->request;
	const uint8_t *in = request->in;

	if (!in || w->in_closed || w->stopping || w->call.ended)
		return 0;
	while (w->in_sent < request->in_len) {
		size_t left = request->in_len - w->in_sent;
		size_t room = calls_stdin_room(&shared->connection.calls, &w->call);
		size_t n = left < room ? left : room;

		if (n == 0)
			return 0;
		if (calls_stdin(&shared->connection.calls, &w->call, in + w->in_sent, n, err) < 0)
			return -1;
		w->in_sent += n;
	}
	w->in_closed = true;
	return calls_stdin_close(&shared->connection.calls, &w->call, err);
}

/* Sends until the connection takes no more, or until the queue is empty. If bytes are left, wakes
 * the leader, because its poll() may not wait yet for the connection to become writable. */
static void push_queued(struct shared_connection *shared, const struct waiter *w)
{
	struct buf *out = &shared->connection.calls.out;
	struct error why = {0};
	struct waiter *each;
	size_t before;
	bool more;

	do {
		/* The leader is the first to know that a command has taken some of its stdin. So
		 * the leader queues more stdin in place of the command's waiter, which need not
		 * wake up. */
		before = out->len;
		list_each (each, &shared->waiters, link)
			if (!shared->broken && queue_stdin(shared, each, &why) < 0)
				shared_break(shared, &why);
		more = out->len > before;
		if (!shared->broken && connection_send(&shared->connection, &why) < 0)
			shared_break(shared, &why);
	} while (more && out->len == 0 && !shared->broken);
	if (out->len > 0 && shared->leader && shared->leader != w)
		wake_raise(shared->leader->wake);
}

/* Ends the command of a waiter early. Sets *why, the flag for the reason, to true. Does nothing if
 * the command has ended or is already being ended. */
static void stop_early(struct shared_connection *shared, struct waiter *w, bool *why)
{
	struct error err = {0};

	if (w->stopping || w->call.ended)
		return;
	*why = true;
	w->stopping = true;
	/* The waiter does not wait for a guest that has not even accepted the connection. The
	 * cancel is queued behind the request, in case the guest accepts the connection later. */
	w->given_up = w->request->hasty || !shared->connection.calls.reached;
	w->deadline_ns = limit_deadline(LIMIT_CANCEL_MS);
	if (calls_cancel(&shared->connection.calls, &w->call, &err) < 0)
		shared_break(shared, &err);
}

static void look_at_clock(struct shared_connection *shared, struct waiter *w)
{
	uint64_t now = clock_mono_ns();
	struct error why;

	if (!shared->connection.calls.reached && !shared->broken &&
	    now >= shared->dial_deadline_ns) {
		error_set(
			&why, ERR_TIMEOUT,
			"the guest does not answer: no connection to its agent was made within %llu ms",
			(unsigned long long)limit_get(LIMIT_DIAL_MS));
		shared_break(shared, &why);
	}
	if (now < w->deadline_ns || w->call.ended)
		return;
	if (w->stopping)
		w->given_up = true;
	else
		stop_early(shared, w, &w->timed_out);
}

static int time_left_ms(const struct shared_connection *shared, const struct waiter *w)
{
	uint64_t until = w->deadline_ns, now = clock_mono_ns();

	if (!shared->connection.calls.reached && shared->dial_deadline_ns < until)
		until = shared->dial_deadline_ns;
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	return until - now > INT32_MAX / 2 * NS_PER_MS ? INT32_MAX / 2
						       : (int)((until - now) / NS_PER_MS) + 1;
}

enum shared_slot { SLOT_WAKE, SLOT_CANCEL, SLOT_GUEST, SLOT_COUNT };

static void wait_round(struct shared_connection *shared, struct waiter *w)
{
	short events = shared->connection.calls.out.len > 0 ? POLLIN | POLLOUT : POLLIN;
	int timeout_ms = time_left_ms(shared, w);
	struct pollfd slots[SLOT_COUNT];

	if (!shared->leader)
		shared->leader = w;
	slots[SLOT_WAKE] = (struct pollfd){.fd = w->wake, .events = POLLIN};
	slots[SLOT_CANCEL] =
		(struct pollfd){.fd = w->stopping ? -1 : w->request->cancel, .events = POLLIN};
	slots[SLOT_GUEST] = (struct pollfd){.fd = shared->leader == w ? shared->connection.fd : -1,
					    .events = events};
	/* Waits without holding the lock. The leader also waits for the connection. */
	pthread_mutex_unlock(&shared->lock);
	if (poll(slots, SLOT_COUNT, timeout_ms) < 0)
		for (int i = 0; i < SLOT_COUNT; i++)
			slots[i].revents = 0;
	pthread_mutex_lock(&shared->lock);
	if (slots[SLOT_WAKE].revents)
		wake_clear(w->wake);
	if (slots[SLOT_CANCEL].revents)
		stop_early(shared, w, &w->cancelled);
	if (!shared->broken && (slots[SLOT_GUEST].revents & (POLLIN | POLLHUP | POLLERR)))
		shared_receive(shared);
	if (w->refused)
		stop_early(shared, w, &w->cancelled);
	look_at_clock(shared, w);
	if (!shared->broken)
		push_queued(shared, w);
}

static int shared_join(struct shared_connection *shared, struct waiter *w, struct error *err)
{
	if (shared->broken)
		return error_copy(err, &shared->why);
	if (calls_begin(&shared->connection.calls, &w->call, w->request->exec,
			w->request->in ? AGENT_INPUT_STDIN : AGENT_INPUT_NONE, err) < 0)
		return -1;
	list_add_first(&shared->waiters, &w->link);
	push_queued(shared, w);
	return 0;
}

/* Removes a waiter at the end of shared_connection_run(). If the leader leaves, another waiter
 * becomes the leader, and reads for all remaining waiters. */
static void shared_leave(struct shared_connection *shared, struct waiter *w)
{
	const struct waiter *first;

	list_remove(&w->link);
	if (w->call.number && !w->call.ended) {
		calls_abandon(&shared->connection.calls, &w->call);
		shared->retired = true;
	}
	if (shared->leader == w)
		shared->leader = NULL;
	first = list_first(&shared->waiters, struct waiter, link);
	if (!shared->leader && first)
		wake_raise(first->wake);
}

static int unanswered(const struct shared_connection *shared, const struct waiter *w,
		      struct error *err)
{
	if (!shared->connection.calls.reached)
		return error_set(err, ERR_TIMEOUT,
				 "the guest does not answer: %s before its agent was reached",
				 w->cancelled ? "the call was cancelled" : "the time was over");
	return error_set(
		err, ERR_TIMEOUT,
		"the guest does not answer: %s, and the end of the command was not confirmed within %llu ms",
		w->cancelled ? "the call was cancelled" : "the time is over",
		(unsigned long long)limit_get(LIMIT_CANCEL_MS));
}

static int take_kept(struct waiter *w, struct microagent_result *out, struct error *err)
{
	struct buf *kept = w->call.kept;

	out->stdout_len = kept[MICROAGENT_STDOUT].len;
	out->stderr_len = kept[MICROAGENT_STDERR].len;
	if (w->request->callbacks)
		return 0;
	out->stdout_bytes = buf_steal_string(&kept[MICROAGENT_STDOUT], err);
	if (!out->stdout_bytes)
		return -1;
	out->stderr_bytes = buf_steal_string(&kept[MICROAGENT_STDERR], err);
	if (out->stderr_bytes)
		return 0;
	free(out->stdout_bytes);
	return -1;
}

static int shared_conclude(const struct shared_connection *shared, struct waiter *w,
			   struct microagent_result *out, struct error *err)
{
	const struct microagent_outcome *exit = &w->call.exit;
	struct microagent_result result = {
		.stdout_truncated = w->call.truncated[MICROAGENT_STDOUT],
		.stderr_truncated = w->call.truncated[MICROAGENT_STDERR],
		.timed_out = w->timed_out || exit->timed_out,
		.cancelled = w->cancelled,
		.killed = exit->killed,
		.signal = exit->signal,
		.exit_code = w->timed_out ? AGENT_TIMED_OUT : exit->exit_code,
		.elapsed_ms = exit->elapsed_ms,
	};

	if (!w->call.ended && shared->broken)
		return error_copy(err, &shared->why);
	if (!w->call.ended)
		return unanswered(shared, w, err);
	if (take_kept(w, &result, err) < 0)
		return -1;
	snprintf(result.start_error, sizeof(result.start_error), "%s", exit->start_error);
	*out = result;
	return 0;
}

int shared_connection_run(struct shared_connection *shared, const struct shared_request *request,
			  struct microagent_result *out, struct error *err)
{
	struct waiter w = {
		.call = {.cap = {request->cap[MICROAGENT_STDOUT], request->cap[MICROAGENT_STDERR]}},
		.request = request,
		.wake = wake_open(),
		.deadline_ns = request->deadline_ns,
	};
	int status;

	if (w.wake < 0)
		return error_errno(err, errno, "wake-up");
	pthread_mutex_lock(&shared->lock);
	status = shared_join(shared, &w, err);
	while (status == 0 && !w.call.ended && !shared->broken && !w.given_up)
		wait_round(shared, &w);
	shared_leave(shared, &w);
	if (status == 0)
		status = shared_conclude(shared, &w, out, err);
	pthread_mutex_unlock(&shared->lock);
	close(w.wake);
	agent_call_free(&w.call);
	return status;
}

bool shared_connection_is_usable(struct shared_connection *shared)
{
	bool usable;

	pthread_mutex_lock(&shared->lock);
	/* If there are waiters, the leader reads the bytes that have arrived. */
	if (list_is_empty(&shared->waiters) && !shared->broken)
		shared_receive(shared);
	usable = !shared->broken && !shared->retired;
	pthread_mutex_unlock(&shared->lock);
	return usable;
}

bool shared_connection_is_clean(struct shared_connection *shared)
{
	bool clean = shared_connection_is_usable(shared);

	pthread_mutex_lock(&shared->lock);
	clean = clean && shared->connection.calls.out.len == 0 &&
		shared->connection.calls.count == 0;
	pthread_mutex_unlock(&shared->lock);
	return clean;
}
