/* SPDX-License-Identifier: MIT */
/*
 * Passes stdin, output and signals between the caller's descriptors and a command in the guest.
 *
 * The pump uses poll() and not the epoll loop, because stdin and stdout may be regular files, which
 * epoll refuses.
 *
 * The caller's descriptors stay blocking: the flag O_NONBLOCK belongs to the open file description,
 * which a shell may share. So the pump reads and writes only after poll() has reported that the
 * call will not block, and each write has no more bytes than certainly fit (fd_write_some()).
 * poll() does not report whether a read from the terminal would stop a job in the background: see
 * base/job_control.h.
 */
#include "channel/pump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/job_control.h"
#include "base/limits.h"
#include "base/min.h"

enum slot {
	SLOT_AGENT,
	SLOT_IN,
	SLOT_OUTPUT,
	SLOT_CANCEL,
	SLOT_SIGNALS,
	SLOT_RESIZED,
	SLOT_PAUSE,
	SLOT_COUNT
};

struct pump {
	struct connection *connection;
	struct calls *calls; /* the calls of the connection */
	struct agent_call *call;
	const struct microagent_streams *streams;
	const struct microagent_terminal *terminal; /* the terminal; NULL: the command has no
						     * terminal */
	const struct pump_guest *guest;
	unsigned dialled;      /* number of new connections that were made since the guest last sent
				* an item or took stdin */
	uint64_t stdin_taken;  /* bytes of stdin that the agent had taken at the last check */
	struct call_item item; /* the item whose output is being written to the caller's stdout or
			        * stderr */
	size_t written;	       /* number of bytes of the item that have been written */
	bool has_item;
	bool in_open;	/* true: stdin has not reached its end */
	bool lost[2];	/* true: output is dropped, for stdout ([0]) or for stderr ([1]) */
	bool unread;	/* true: output was dropped, because its reader took none of it in time */
	bool cancelled; /* true: the command was cancelled, and the pump waits for its exit */
	bool asked;	/* true: SIGINT, SIGTERM or SIGHUP was passed on, by which the user asks for
			 * the end of the command */
	bool done;	/* true: the pump ends now, because `end` is known */
	enum microagent_end end;
	uint64_t deadline_ns; /* the time at which a cancelled command is given up; UINT64_MAX:
			       * never */
	uint64_t watch_ns;    /* the time at which the watch for pauses begins; UINT64_MAX: never,
			       * or the watch has begun already */
	int pause_fd;	      /* the descriptor that is readable when a pause of the machine may
			       * have begun or ended; -1: no descriptor */
	bool was_started;
	uint64_t patience_ms;
	uint64_t overdue_ns; /* the time by which the agent must have reported the start, and later
			      * the exit; UINT64_MAX: no limit */
	uint64_t expires_ns; /* the time at which the timeout of the command is over; UINT64_MAX:
			      * never */
	uint64_t hung_up_ns; /* the time at which the connection was lost while an item was being
			      * written, or of the last attempt to connect again; 0: the connection
			      * was not lost */
	uint64_t taken_ns;   /* the time at which the reader last took bytes, or at which it was
			      * first offered bytes */
};

static int output_fd(const struct pump *p)
{
	return p->item.output == MICROAGENT_STDOUT ? p->streams->out : p->streams->err;
}

static bool pump_is_paused(const struct pump *p)
{
	return p->guest->is_paused && p->guest->is_paused(p->guest->data);
}

/* Ends the command early. The pump does not wait for the end of the workload or of a command in a
 * paused machine. For any other command, the agent is asked to cancel it, and the exit of the
 * command is awaited. */
static int pump_stop(struct pump *p, enum microagent_end why, struct error *err)
{
	if (p->cancelled)
		return 0;
	p->end = why;
	p->cancelled = true;
	if (!p->call->exec || pump_is_paused(p)) {
		p->done = true;
		return 0;
	}
	p->in_open = false;
	p->deadline_ns = limit_deadline(LIMIT_CANCEL_MS);
	return calls_cancel(p->calls, p->call, err);
}

static int pass_signal(struct pump *p, struct error *err)
{
	int signal = p->streams->signals->next(p->streams->signals->data);
	bool asks_to_end = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;

	if (signal == MICROAGENT_SIGNAL_END || (asks_to_end && pump_is_paused(p)))
		return pump_stop(p, MICROAGENT_CANCELLED, err);
	p->asked = p->asked || asks_to_end;
	return signal > 0 ? calls_signal(p->calls, p->call, signal, err) : 0;
}

static int write_item(struct pump *p, struct error *err)
{
	bool is_out = p->item.output == MICROAGENT_STDOUT;
	ssize_t n =
		fd_write_some(output_fd(p), p->item.bytes + p->written, p->item.len - p->written);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		bool gone = errno == EPIPE || errno == ECONNRESET || errno == EBADF;
		if (!gone && !p->guest->has_readers_of_its_own)
			return error_errno(err, errno, "cannot write to %s",
					   is_out ? "stdout" : "stderr");
		if (!gone) {
			p->has_item = false;
			return 0;
		}
		p->lost[p->item.output] = true;
		p->has_item = false;
		if (p->guest->has_readers_of_its_own)
			return calls_signal(p->calls, p->call, SIGPIPE, err);
		return is_out ? pump_stop(p, MICROAGENT_OUT_CLOSED, err) : 0;
	}
	p->written += (size_t)n;
	p->has_item = p->written < p->item.len;
	p->taken_ns = clock_mono_ns();
	return 0;
}

/* Returns the time until which the pump waits for a reader that takes nothing. This time is
 * unlimited until the command is told to end: by its timeout, by a cancel, or by a signal. The
 * signal does not count if the caller has_readers_of_its_own, because such a caller may use the
 * signal for another purpose. */
static uint64_t reader_by_ns(const struct pump *p)
{
	uint64_t patient = p->taken_ns + limit_get(LIMIT_UNREAD_MS) * NS_PER_MS;
	uint64_t last;

	if (!p->has_item)
		return UINT64_MAX;
	if (p->cancelled || (p->asked && !p->guest->has_readers_of_its_own))
		return patient;
	if (p->expires_ns == UINT64_MAX)
		return UINT64_MAX;
	/* Each time a reader takes some bytes it gets more time, but only up to this limit. */
	last = p->expires_ns + limit_get(LIMIT_EXEC_LATE_MS) * NS_PER_MS;
	if (patient < p->expires_ns)
		return p->expires_ns;
	return patient < last ? patient : last;
}

/* Returns the time at which to check whether the machine still lives, after the connection was
 * lost. Without this check, the pump would wait for a reader that takes nothing, and not notice
 * that the machine has ended. */
static uint64_t next_look_ns(const struct pump *p)
{
	if (!p->has_item || !p->hung_up_ns)
		return UINT64_MAX;
	return max_u64(p->taken_ns, p->hung_up_ns) + limit_get(LIMIT_UNREAD_MS) * NS_PER_MS;
}

/* Returns true if the command can go on over another connection. Opens a connection as a test and
 * closes it again; reconnect() opens the connection that is used after the item was written. */
static bool can_connect(const struct pump *p)
{
	struct error ignored;
	int fd = p->guest->dial && calls_can_resume(p->calls)
			 ? p->guest->dial(p->guest->data, &ignored)
			 : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int give_up_reader(struct pump *p, struct error *err)
{
	uint64_t now = clock_mono_ns();
	bool is_late = now >= reader_by_ns(p);

	if (!is_late && now < next_look_ns(p))
		return 0;
	if (!is_late && can_connect(p)) {
		p->hung_up_ns = now;
		return 0;
	}
	/* Drops the output that the reader has not taken, and all later output. So the exit of the
	 * command, or the end of the connection, can be read. */
	p->unread = true;
	p->has_item = false;
	p->lost[MICROAGENT_STDOUT] = p->lost[MICROAGENT_STDERR] = true;
	return is_late && now < p->expires_ns ? pump_stop(p, MICROAGENT_CANCELLED, err) : 0;
}

/* Handles the loss of the connection. Opens another connection if the command can be resumed; else
 * fails with ERR_UNAVAILABLE. */
static int reconnect(struct pump *p, struct error *err)
{
	struct error why = {0};
	int fd = -1;

	error_set(&why, ERR_UNAVAILABLE,
		  "the connection to the guest was lost: the machine may have ended");
	while (p->guest->dial && calls_can_resume(p->calls) && fd < 0 &&
	       why.code == ERR_UNAVAILABLE && p->dialled < limit_get(LIMIT_REDIALS)) {
		/* The delay grows with each attempt. A cancel ends the delay, but not if the
		 * command was cancelled already: the agent must still be told of that cancel. */
		struct pollfd cancel = {.fd = p->cancelled ? -1 : p->streams->cancel,
					.events = POLLIN};

		poll(&cancel, 1, (int)(p->dialled * limit_get(LIMIT_REDIAL_MS)));
		p->dialled++;
		fd = p->guest->dial(p->guest->data, &why);
	}
	if (fd < 0)
		return error_copy(err, &why);
	if (connection_resume(p->connection, fd, err) < 0)
		return -1;
	p->hung_up_ns = 0;
	return p->terminal && p->call->started ? calls_resize(p->calls, p->call, err) : 0;
}

/* Takes items until one of them has output to write, or until there are no more items. */
static int pump_take_items(struct pump *p, struct error *err)
{
	while (!p->has_item && !p->done) {
		int got = calls_next(p->calls, &p->item, err);
		uint64_t stdin_taken = calls_stdin_taken(p->calls, p->call);

		/* If the agent has taken stdin since the last check, this is progress, even if the
		 * guest has sent no output. */
		if (stdin_taken > p->stdin_taken)
			p->dialled = 0;
		p->stdin_taken = stdin_taken;
		if (got == 0 && p->connection->ended)
			return reconnect(p, err);
		if (got <= 0)
			return got;
		p->dialled = 0;
		if (p->item.kind == CALL_EXITED) {
			p->done = true;
			if (!p->cancelled)
				p->end = MICROAGENT_EXITED;
		} else if (p->item.len > 0 && p->streams->sink) {
			p->streams->sink->take(p->streams->sink->data,
					       p->item.output == MICROAGENT_STDERR, p->item.bytes,
					       p->item.len);
		} else if (p->item.len > 0 && !p->lost[p->item.output]) {
			p->has_item = true;
			p->written = 0;
			p->taken_ns = clock_mono_ns();
		}
	}
	return 0;
}

static bool has_escape(const struct pump *p, const uint8_t *bytes, size_t len)
{
	return p->terminal && p->terminal->escape >= 0 && memchr(bytes, p->terminal->escape, len);
}

static bool has_signal(const struct pump *p)
{
	struct pollfd slot = {.fd = p->streams->signals ? p->streams->signals->fd : -1,
			      .events = POLLIN};

	return poll(&slot, 1, 0) > 0;
}

static int read_stdin(struct pump *p, struct error *err)
{
	uint8_t bytes[AGENT_STDIN_CHUNK];
	size_t room = calls_stdin_room(p->calls, p->call);
	ssize_t n;

	/* Messages that were queued since poll() may have used up the room. read() is not called
	 * without room, because its result 0 would look like the end of stdin. */
	if (room == 0)
		return 0;
	/* Stops this job if it is in the background and so may not read. A signal that has arrived
	 * meanwhile is passed on first, because it is not sent again after the stop. A job that was
	 * told to end must not stop before it has ended. */
	if (is_in_background(p->streams->in) && (p->asked || has_signal(p) || job_stop(SIGTTIN)))
		return 0;
	n = read(p->streams->in, bytes, room);
	if (n > 0 && has_escape(p, bytes, (size_t)n)) {
		p->end = MICROAGENT_DETACHED;
		p->done = true;
		return 0;
	}
	if (n > 0)
		return calls_stdin(p->calls, p->call, bytes, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* The input has ended, or cannot be read. In both cases the reading ends. A terminal that
	 * went away is not a failure of the command. */
	p->in_open = false;
	return calls_stdin_close(p->calls, p->call, err);
}

/* Fills the array for poll(). Unused entries have a negative descriptor, which poll() skips. */
static void set_slots(const struct pump *p, struct pollfd slots[SLOT_COUNT])
{
	const struct microagent_signals *signals = p->cancelled ? NULL : p->streams->signals;
	bool started = p->call->started, ended = p->connection->ended;
	bool read_in = p->in_open && started && !ended && calls_stdin_room(p->calls, p->call) > 0 &&
		       !(p->asked && is_in_background(p->streams->in));
	short agent = 0;

	if (!ended && !p->has_item)
		agent |= POLLIN;
	if (!ended && !p->hung_up_ns && p->calls->out.len > 0)
		agent |= POLLOUT;
	/* While an item is being written, the pump waits only for the loss of the connection
	 * (POLLHUP). After the loss was noticed, the pump no longer waits for the loss, because
	 * each poll() would report it at once. */
	slots[SLOT_AGENT] = (struct pollfd){
		.fd = agent || (p->has_item && !ended && !p->hung_up_ns) ? p->connection->fd : -1,
		.events = agent};
	slots[SLOT_IN] = (struct pollfd){.fd = read_in ? p->streams->in : -1, .events = POLLIN};
	slots[SLOT_OUTPUT] =
		(struct pollfd){.fd = p->has_item ? output_fd(p) : -1, .events = POLLOUT};
	slots[SLOT_CANCEL] =
		(struct pollfd){.fd = p->cancelled ? -1 : p->streams->cancel, .events = POLLIN};
	slots[SLOT_SIGNALS] = (struct pollfd){.fd = signals ? signals->fd : -1, .events = POLLIN};
	slots[SLOT_RESIZED] = (struct pollfd){
		.fd = p->terminal && started ? p->terminal->resized : -1, .events = POLLIN};
	slots[SLOT_PAUSE] = (struct pollfd){.fd = p->pause_fd, .events = POLLIN};
}

/* Returns the timeout that the guest was given for the command, in milliseconds; 0: no timeout. */
static uint64_t timeout_ms(const struct pump *p)
{
	return p->call->exec ? (uint64_t)p->call->exec->timeout_seconds * 1000 : 0;
}

/* Sets the time at which the guest is overdue, so that the pump does not wait for ever for a guest
 * that does not answer. Time in which the guest's messages wait for the caller's reader does not
 * count. */
static void set_overdue(struct pump *p, uint64_t now)
{
	uint64_t late_ms = timeout_ms(p) + limit_get(LIMIT_EXEC_LATE_MS);

	if (p->overdue_ns != 0 && p->was_started == p->call->started)
		return;
	p->was_started = p->call->started;
	if (p->was_started && p->call->timeout_seconds > 0)
		p->expires_ns = now + (uint64_t)p->call->timeout_seconds * NS_PER_S;
	p->patience_ms = p->was_started ? late_ms : limit_get(LIMIT_AGENT_ANSWER_MS);
	if (timeout_ms(p) > 0 && late_ms < p->patience_ms)
		p->patience_ms = late_ms;
	p->overdue_ns = now + p->patience_ms * NS_PER_MS;
	if (p->was_started && timeout_ms(p) == 0)
		p->overdue_ns = UINT64_MAX;
}

/* Waits until one of the descriptors is ready, but not beyond the next deadline. */
static int wait_slots(struct pump *p, struct pollfd slots[SLOT_COUNT], struct error *err)
{
	uint64_t now = clock_mono_ns(), until = p->deadline_ns;
	int most_ms = -1;

	set_overdue(p, now);
	if (p->guest->watch_pauses && now >= p->watch_ns) {
		p->watch_ns = UINT64_MAX;
		p->pause_fd = p->guest->watch_pauses(p->guest->data);
		/* Asks once whether the machine is paused, because the watch does not report a
		 * pause that began before the watch. */
		(void)pump_is_paused(p);
	}
	if (p->watch_ns < until)
		until = p->watch_ns;
	if (!p->has_item && p->overdue_ns < until)
		until = p->overdue_ns;
	until = min_u64(until, min_u64(reader_by_ns(p), next_look_ns(p)));
	if (!p->has_item && now >= p->overdue_ns && !p->cancelled) {
		if (!p->was_started)
			return error_set(
				err, ERR_TIMEOUT,
				"the guest agent has not answered within %llu ms: the guest is busy, paused, or hangs",
				(unsigned long long)p->patience_ms);
		return error_set(
			err, ERR_TIMEOUT,
			"the guest agent has not reported the end of the command, whose timeout of %lld s has passed: the guest hangs, or has too much to do",
			(long long)timeout_ms(p) / 1000);
	}
	/* When the pump has ended, the caller closes the connection, which also ends the
	 * command. */
	p->done = now >= p->deadline_ns;
	if (until != UINT64_MAX) {
		uint64_t left = until > now ? (until - now) / NS_PER_MS + 1 : 0;

		most_ms = left < INT_MAX ? (int)left : INT_MAX;
	}
	set_slots(p, slots);
	if (poll(slots, SLOT_COUNT, most_ms) < 0) {
		if (errno != EINTR)
			return error_errno(err, errno, "poll");
		for (int i = 0; i < SLOT_COUNT; i++)
			slots[i].revents = 0;
	}
	if (p->has_item && p->overdue_ns != UINT64_MAX)
		p->overdue_ns += clock_mono_ns() - now;
	return 0;
}

static int pump_round(struct pump *p, struct error *err)
{
	struct pollfd slots[SLOT_COUNT];
	short agent;

	/* Takes items before the wait. Messages that arrived together with earlier messages do not
	 * make the socket readable again. For example, the caller may have waited for the start of
	 * the command, and output came together with the start. */
	if (pump_take_items(p, err) < 0)
		return -1;
	if (p->done)
		return 0;
	if (p->has_item && p->connection->ended && !p->hung_up_ns)
		p->hung_up_ns = clock_mono_ns();
	if (wait_slots(p, slots, err) < 0)
		return -1;
	agent = slots[SLOT_AGENT].revents;
	if (slots[SLOT_PAUSE].revents)
		(void)pump_is_paused(p);
	if (slots[SLOT_CANCEL].revents && pump_stop(p, MICROAGENT_CANCELLED, err) < 0)
		return -1;
	if (slots[SLOT_SIGNALS].revents && pass_signal(p, err) < 0)
		return -1;
	if (p->has_item && !p->hung_up_ns && (agent & (POLLHUP | POLLERR)))
		p->hung_up_ns = clock_mono_ns();
	if (slots[SLOT_OUTPUT].revents && write_item(p, err) < 0)
		return -1;
	if (give_up_reader(p, err) < 0)
		return -1;
	if (p->done)
		return 0;
	if ((agent & (POLLOUT | POLLERR)) && !p->hung_up_ns &&
	    connection_send(p->connection, err) < 0)
		return -1;
	/* Nothing is received while an item is being written, because the received bytes would
	 * overwrite the item's bytes in the buffer. */
	if ((agent & (POLLIN | POLLHUP | POLLERR)) && !p->has_item &&
	    connection_receive(p->connection, err) < 0)
		return -1;
	if (slots[SLOT_RESIZED].revents && calls_resize(p->calls, p->call, err) < 0)
		return -1;
	return slots[SLOT_IN].revents && p->in_open ? read_stdin(p, err) : 0;
}

int pump_run(struct connection *connection, struct agent_call *call,
	     const struct microagent_streams *streams, const struct pump_guest *guest,
	     struct microagent_outcome *outcome, struct error *err)
{
	struct pump p = {
		.connection = connection,
		.calls = &connection->calls,
		.call = call,
		.streams = streams,
		.terminal = call->exec ? call->exec->terminal : NULL,
		.guest = guest,
		.in_open = streams->in >= 0,
		.deadline_ns = UINT64_MAX,
		.expires_ns = UINT64_MAX,
		.watch_ns = guest->watch_pauses ? limit_deadline(LIMIT_PAUSE_WATCH_MS) : UINT64_MAX,
		.pause_fd = -1,
	};
	int result = 0;

	while (result == 0 && !p.done)
		result = pump_round(&p, err);
	/* A resumable command must not go on without this process. If the agent does not get the
	 * release, the command ends when its resume_seconds are over. */
	if (calls_release(p.calls, NULL) == 0)
		connection_send(p.connection, NULL);
	if (result < 0)
		return -1;
	*outcome = call->exit;
	outcome->end = p.end;
	outcome->unread = p.unread;
	if (p.unread && p.end == MICROAGENT_EXITED) {
		outcome->timed_out = true;
		outcome->exit_code = AGENT_TIMED_OUT;
	}
	return 0;
}
