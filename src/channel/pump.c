/* SPDX-License-Identifier: MIT */
/*
 * poll() and not the epoll loop, because stdin and stdout may be regular files, which epoll
 * refuses.
 *
 * The caller's descriptors stay blocking (the flag belongs to the open description, which a shell
 * shares), so nothing is read or written before poll() has said that it will not block, and no more
 * is written at once than is promised to fit: PIPE_BUF bytes into a pipe or a terminal.
 */
#include "channel/pump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

#define CHUNK 65536

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
	int agent;
	int own;	      /* the same if it was dialled here, else -1 */
	unsigned dialled;     /* times since there was anything new */
	uint64_t stdin_taken; /* by the agent, as of the last look */
	struct agent_stream *stream;
	const struct pump_fds *fds;
	enum pump_cancel on_cancel;
	struct agent_item item; /* the output being written */
	size_t written;		/* bytes of it */
	bool has_item;
	bool in_open;	  /* stdin has not ended */
	bool out_lost;	  /* nobody reads out; what comes is dropped */
	bool err_lost;	  /* the same for err */
	bool cancelled;	  /* waiting for the exit of a cancelled command */
	bool agent_ended; /* end of the connection; items may still be waiting in the stream */
	bool done;	  /* *end is known */
	enum pump_end end;
	uint64_t deadline_ns; /* of a cancelled command; UINT64_MAX: none */
	bool was_started;
	uint64_t overdue_ns; /* when the agent must have said start, then exit; the same */
	struct agent_exit exit;
};

static int output_fd(const struct pump *p)
{
	return p->item.kind == AGENT_ITEM_STDOUT ? p->fds->out : p->fds->err;
}

/* A write that does not block, or as close to it as this kind of descriptor allows. */
static ssize_t write_some(int fd, const void *bytes, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) == 0) {
		if (S_ISSOCK(st.st_mode))
			return send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
			return write(fd, bytes, len);
	}
	return write(fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

static bool is_paused(const struct pump *p)
{
	return p->fds->pause && p->fds->pause->look(p->fds->pause->data);
}

/* Ends the command early: at once, or by asking the agent and waiting for the exit. */
static int stop(struct pump *p, enum pump_end why, struct error *err)
{
	if (p->cancelled)
		return 0;
	p->end = why;
	p->cancelled = true;
	if (p->on_cancel == PUMP_CANCEL_RETURN || is_paused(p)) {
		p->done = true;
		return 0;
	}
	p->in_open = false;
	p->deadline_ns = limit_deadline(LIMIT_CANCEL_MS);
	return agent_stream_cancel(p->stream, err);
}

static bool asks_to_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static int pass_signal(struct pump *p, struct error *err)
{
	int signal = p->fds->signals->next(p->fds->signals->data);

	if (signal == PUMP_SIGNAL_CANCEL || (asks_to_end(signal) && is_paused(p)))
		return stop(p, PUMP_CANCELLED, err);
	return signal > 0 ? agent_stream_signal(p->stream, signal, err) : 0;
}

static int write_item(struct pump *p, struct error *err)
{
	bool is_out = p->item.kind == AGENT_ITEM_STDOUT;
	ssize_t n = 0;

	if (!(is_out ? p->out_lost : p->err_lost))
		n = write_some(output_fd(p), p->item.bytes + p->written, p->item.len - p->written);
	else
		n = (ssize_t)(p->item.len - p->written);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		if (errno != EPIPE && errno != ECONNRESET && errno != EBADF)
			return error_errno(err, errno, "cannot write to %s",
					   is_out ? "stdout" : "stderr");
		*(is_out ? &p->out_lost : &p->err_lost) = true;
		return is_out ? stop(p, PUMP_OUT_CLOSED, err) : 0;
	}
	p->written += (size_t)n;
	p->has_item = p->written < p->item.len;
	return 0;
}

static int resize(struct pump *p, struct error *err)
{
	struct agent_size size;

	p->fds->terminal->size(p->fds->terminal->data, &size);
	return agent_stream_resize(p->stream, &size, err);
}

/* The longer it takes, the less often it is tried. A cancel is no reason not to: the command has to
 * be told. */
static void wait_to_dial(const struct pump *p)
{
	struct pollfd cancel = {.fd = p->cancelled ? -1 : p->fds->cancel, .events = POLLIN};

	poll(&cancel, 1, (int)(p->dialled * limit_get(LIMIT_REDIAL_MS)));
}

/* The connection is gone. Makes another for a command that may go on without one. */
static int reconnect(struct pump *p, struct error *err)
{
	struct error why = {0};
	int fd = -1;

	error_set(&why, ERR_UNAVAILABLE, "the connection to the guest was lost");
	while (p->fds->redial && agent_stream_can_resume(p->stream) && fd < 0 &&
	       why.code == ERR_UNAVAILABLE && p->dialled < limit_get(LIMIT_REDIALS)) {
		wait_to_dial(p);
		p->dialled++;
		fd = p->fds->redial->dial(p->fds->redial->data, &why);
	}
	if (fd < 0) {
		if (err)
			*err = why;
		return -1;
	}
	cleanup_close(&p->own);
	p->own = p->agent = fd;
	p->agent_ended = false;
	if (agent_stream_resume(p->stream, err) < 0)
		return -1;
	return p->fds->terminal && p->stream->started ? resize(p, err) : 0;
}

/* A connection that carried nothing but stdin has got somewhere too. */
static void note_progress(struct pump *p)
{
	uint64_t stdin_taken = agent_stream_stdin_taken(p->stream);

	if (stdin_taken > p->stdin_taken)
		p->dialled = 0;
	p->stdin_taken = stdin_taken;
}

/* Takes items until one has output to be written, or there are no more. */
static int take_items(struct pump *p, struct error *err)
{
	while (!p->has_item && !p->done) {
		int got = agent_stream_next(p->stream, &p->item, err);

		note_progress(p);
		if (got == 0 && p->agent_ended)
			return reconnect(p, err);
		if (got <= 0)
			return got;
		p->dialled = 0;
		if (p->item.kind == AGENT_ITEM_EXIT) {
			p->exit = p->item.exit;
			p->done = true;
			if (!p->cancelled)
				p->end = PUMP_EXITED;
		} else if (p->item.len > 0 && p->fds->sink) {
			p->fds->sink->take(p->fds->sink->data, p->item.kind == AGENT_ITEM_STDERR,
					   p->item.bytes, p->item.len);
		} else if (p->item.len > 0) {
			p->has_item = true;
			p->written = 0;
		}
	}
	return 0;
}

static int receive(struct pump *p, struct error *err)
{
	uint8_t bytes[CHUNK];
	size_t room = agent_stream_room(p->stream);
	ssize_t n;

	/* Reading nothing would look like the end. Taking items makes room. */
	if (room == 0)
		return 0;
	n = recv(p->agent, bytes, room < CHUNK ? room : CHUNK, MSG_DONTWAIT);
	if (n > 0)
		return agent_stream_feed(p->stream, bytes, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != ECONNRESET)
		return error_errno(err, errno, "cannot receive from the guest");
	p->agent_ended = true;
	return 0;
}

static int send_queued(struct pump *p, struct error *err)
{
	struct buf *out = &p->stream->out;
	ssize_t n = send(p->agent, buf_bytes(out), out->len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0) {
		/* The other side has closed. What it said before (the exit, an error) may still
		 * be waiting to be read, and says more than this. */
		if (errno == EPIPE || errno == ECONNRESET)
			n = (ssize_t)out->len;
		else if (errno == EAGAIN || errno == EINTR)
			return 0;
		else
			return error_errno(err, errno, "cannot send to the guest");
	}
	buf_consume(out, (size_t)n);
	return 0;
}

static bool has_escape(const struct pump *p, const uint8_t *bytes, size_t len)
{
	const struct pump_terminal *terminal = p->fds->terminal;

	return terminal && terminal->escape >= 0 && memchr(bytes, terminal->escape, len);
}

static int read_stdin(struct pump *p, struct error *err)
{
	uint8_t bytes[CHUNK];
	size_t room = agent_stream_stdin_room(p->stream);
	ssize_t n = read(p->fds->in, bytes, room < CHUNK ? room : CHUNK);

	if (n > 0 && has_escape(p, bytes, (size_t)n)) {
		p->end = PUMP_DETACHED;
		p->done = true;
		return 0;
	}
	if (n > 0)
		return agent_stream_stdin(p->stream, bytes, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* An end, and whatever else ends reading: a terminal that went away is no failure of the
	 * command. */
	p->in_open = false;
	return agent_stream_stdin_close(p->stream, err);
}

/* poll() passes over negative descriptors, so a slot that is not wanted costs nothing. */
static void set_slots(const struct pump *p, struct pollfd slots[SLOT_COUNT])
{
	short agent = 0;
	bool read_in = p->in_open && p->stream->started && agent_stream_stdin_room(p->stream) > 0;

	if (p->agent_ended)
		read_in = false;
	else if (!p->has_item)
		agent |= POLLIN;
	if (!p->agent_ended && p->stream->out.len > 0)
		agent |= POLLOUT;
	/* Without anything to wait for, POLLHUP alone would make this a busy loop. */
	slots[SLOT_AGENT] = (struct pollfd){.fd = agent ? p->agent : -1, .events = agent};
	slots[SLOT_IN] = (struct pollfd){.fd = read_in ? p->fds->in : -1, .events = POLLIN};
	slots[SLOT_OUTPUT] =
		(struct pollfd){.fd = p->has_item ? output_fd(p) : -1, .events = POLLOUT};
	slots[SLOT_CANCEL] =
		(struct pollfd){.fd = p->cancelled ? -1 : p->fds->cancel, .events = POLLIN};
	slots[SLOT_SIGNALS] =
		(struct pollfd){.fd = p->fds->signals && !p->cancelled ? p->fds->signals->fd : -1,
				.events = POLLIN};
	slots[SLOT_RESIZED] = (struct pollfd){
		.fd = p->fds->terminal && p->stream->started ? p->fds->terminal->resized : -1,
		.events = POLLIN};
	slots[SLOT_PAUSE] =
		(struct pollfd){.fd = p->fds->pause ? p->fds->pause->fd : -1, .events = POLLIN};
}

/* A guest that was asked and says nothing is not waited for, but one whose words wait for our own
 * reader is not to blame: that time does not count. */
static void set_overdue(struct pump *p, uint64_t now)
{
	uint64_t wait_ms = limit_get(LIMIT_AGENT_ANSWER_MS);

	if (p->overdue_ns != 0 && p->was_started == p->stream->started)
		return;
	p->was_started = p->stream->started;
	if (p->was_started)
		wait_ms =
			(uint64_t)p->stream->timeout_seconds * 1000 + limit_get(LIMIT_EXEC_LATE_MS);
	p->overdue_ns = now + wait_ms * NS_PER_MS;
	if (p->was_started && p->stream->timeout_seconds == 0)
		p->overdue_ns = UINT64_MAX;
}

static int refuse_overdue(const struct pump *p, struct error *err)
{
	if (!p->was_started)
		return error_set(err, ERR_TIMEOUT,
				 "the guest agent has not answered within %llu ms",
				 (unsigned long long)limit_get(LIMIT_AGENT_ANSWER_MS));
	return error_set(err, ERR_TIMEOUT,
			 "the guest agent has not told the end of the command, whose timeout of "
			 "%lld s has passed",
			 (long long)p->stream->timeout_seconds);
}

static int wait_ms(uint64_t until_ns, uint64_t now)
{
	uint64_t left = until_ns > now ? (until_ns - now) / NS_PER_MS + 1 : 0;

	return left < INT_MAX ? (int)left : INT_MAX;
}

/* Waits until something can be done, at most until a deadline. */
static int wait_slots(struct pump *p, struct pollfd slots[SLOT_COUNT], struct error *err)
{
	uint64_t now = clock_mono_ns(), until = p->deadline_ns;
	int timeout_ms = -1;

	set_overdue(p, now);
	if (!p->has_item && p->overdue_ns < until)
		until = p->overdue_ns;
	if (!p->has_item && now >= p->overdue_ns && !p->cancelled)
		return refuse_overdue(p, err);
	/* Closing the connection, which the caller does next, ends it too. */
	p->done = now >= p->deadline_ns;
	if (until != UINT64_MAX)
		timeout_ms = wait_ms(until, now);
	set_slots(p, slots);
	if (poll(slots, SLOT_COUNT, timeout_ms) < 0) {
		if (errno != EINTR)
			return error_errno(err, errno, "poll");
		for (int i = 0; i < SLOT_COUNT; i++)
			slots[i].revents = 0;
	}
	if (p->has_item && p->overdue_ns != UINT64_MAX)
		p->overdue_ns += clock_mono_ns() - now;
	return 0;
}

static int round_once(struct pump *p, struct error *err)
{
	struct pollfd slots[SLOT_COUNT];
	short agent;

	if (wait_slots(p, slots, err) < 0)
		return -1;
	agent = slots[SLOT_AGENT].revents;
	if (slots[SLOT_PAUSE].revents)
		(void)is_paused(p);
	if (slots[SLOT_CANCEL].revents && stop(p, PUMP_CANCELLED, err) < 0)
		return -1;
	if (slots[SLOT_SIGNALS].revents && pass_signal(p, err) < 0)
		return -1;
	if (slots[SLOT_OUTPUT].revents && write_item(p, err) < 0)
		return -1;
	if (p->done)
		return 0;
	if ((agent & (POLLOUT | POLLERR)) && p->stream->out.len > 0 && send_queued(p, err) < 0)
		return -1;
	/* Not while an item is being written: it borrows the memory that would be read into. */
	if ((agent & (POLLIN | POLLHUP | POLLERR)) && !p->has_item && receive(p, err) < 0)
		return -1;
	if (slots[SLOT_RESIZED].revents && resize(p, err) < 0)
		return -1;
	if (slots[SLOT_IN].revents && p->in_open && read_stdin(p, err) < 0)
		return -1;
	return take_items(p, err);
}

/* A command that could go on without us must not. If this does not arrive, its grace time ends it.
 */
static void say_goodbye(struct pump *p)
{
	if (agent_stream_release(p->stream, NULL) == 0 && p->stream->out.len > 0)
		send_queued(p, NULL);
}

int pump_run(int agent_fd, struct agent_stream *stream, const struct pump_fds *fds,
	     enum pump_cancel on_cancel, enum pump_end *end, struct agent_exit *exit,
	     struct error *err)
{
	struct pump p = {
		.agent = agent_fd,
		.stream = stream,
		.fds = fds,
		.own = -1,
		.on_cancel = on_cancel,
		.in_open = fds->in >= 0,
		.deadline_ns = UINT64_MAX,
	};
	int result = 0;

	while (result == 0 && !p.done)
		result = round_once(&p, err);
	say_goodbye(&p);
	cleanup_close(&p.own);
	if (result == 0) {
		*end = p.end;
		*exit = p.exit;
	}
	return result;
}
