/* SPDX-License-Identifier: MIT */
/* The host's sockets: host clients and their CONNECT lines, connections to the sockets of listed
 * ports, and the bytes of the guest that are written to these sockets. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "vsockd/core.h"
#include "vsockd/core_parts.h"

#define ACCEPTS_PER_EVENT 16
#define LINE_MAX_BYTES 32 /* the longest valid line, "CONNECT 4294967295\n", has 19 bytes */
#define WATCHED (EPOLLIN | EPOLLRDHUP | EPOLLET)

static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == CORE_SOCKET_PATH, "as the system's");

/* --- clients --------------------------------------------------------------------------------- */

/* Parses the line "CONNECT <port>\n". `len` is its length in bytes, including the newline. Returns
 * false for a line of any other form. */
static bool parse_connect_line(const char *line, size_t len, uint32_t *port)
{
	static const char word[] = "CONNECT ";
	uint64_t value = 0;
	size_t i = sizeof(word) - 1;

	if (len < sizeof(word) + 1 || len > sizeof(word) + 10 || memcmp(line, word, i) != 0)
		return false;
	for (; i < len - 1; i++) {
		if (line[i] < '0' || line[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(line[i] - '0');
	}
	if (value > UINT32_MAX)
		return false;
	*port = (uint32_t)value;
	return true;
}

/* Returns a port of the host that no stream has together with `guest_port`. Each call returns a
 * higher number than the call before, until the numbers begin again. So late packets of an old
 * stream do not reach a new stream. */
static uint32_t allocate_port(struct core *core, uint32_t guest_port)
{
	uint32_t port;

	do {
		port = core->next_port;
		core->next_port = port == CORE_PORT_LAST ? CORE_PORT_FIRST : port + 1;
	} while (stream_find(&core->table, port, guest_port));
	return port;
}

/* Reads the client's line; with MSG_PEEK the line stays in the socket. The caller first peeks, and
 * then reads only up to the newline. So the bytes after the newline stay in the socket as
 * payload. */
static ssize_t receive_connect_line(const struct stream *s, char *line, size_t len, int flags)
{
	struct iovec iov = {.iov_base = line, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	return recvmsg(s->fd, &m, MSG_DONTWAIT | flags);
}

static void read_line(struct core *core, struct stream *s)
{
	char line[LINE_MAX_BYTES];
	ssize_t got = receive_connect_line(s, line, sizeof(line), MSG_PEEK);
	const char *newline = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
	size_t len = newline ? (size_t)(newline - line) + 1 : 0;
	uint32_t port;

	/* If the line is incomplete, the next event announces more bytes, unless the client has
	 * hung up or the line is too long already. */
	if (!newline && !s->hung_up &&
	    ((got < 0 && errno == EAGAIN) || (got > 0 && (size_t)got < sizeof(line))))
		return;
	/* A refused line is read before the socket is closed, since a close with unread bytes would
	 * reset the connection. */
	if (!newline || receive_connect_line(s, line, len, 0) < 0 ||
	    !(core->linked || core->awaits_agent) || !parse_connect_line(line, len, &port)) {
		stream_release(&core->table, s);
		return;
	}
	stream_name(&core->table, s, allocate_port(core, port), port);
	s->state = STREAM_REQUESTED;
	s->client = true;
	core->table.clients++;
	s->want = WANT_REQUEST;
	/* The socket may already have bytes after the line, and no event would announce them. */
	s->readable = (size_t)got > len || s->hung_up;
	stream_set_timer(&core->table, s, TIMER_ANSWER, clock_mono_ns() + core->config.answer_ns);
	core_settle(core, s);
}

void host_answer(struct core *core, struct stream *s)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof(line), "OK %u\n", s->host_port);
	struct iovec iov = {.iov_base = line, .iov_len = (size_t)n};
	struct span span = {.iov = &iov, .n = 1, .bytes = (size_t)n};
	struct msghdr m = {.msg_iov = span.iov, .msg_iovlen = span.n};

	/* These are the first bytes into an empty socket, so the socket takes all of them or
	 * none. */
	if (sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) != n) {
		s->host_gone = true;
		s->host_eof = true;
	}
	(void)core;
}

int host_watch(struct core *core, struct stream *s)
{
	return poll_add(core->config.epfd, s->fd, WATCHED, core_ref(core, s));
}

static void admit_host_client(struct core *core, int fd)
{
	struct stream *s = stream_alloc(&core->table);

	if (!s) {
		close(fd); /* the stream is refused, like any stream that cannot be opened */
		return;
	}
	s->fd = fd;
	if (host_watch(core, s) < 0)
		stream_release(&core->table, s);
	else
		stream_set_timer(&core->table, s, TIMER_LINE,
				 clock_mono_ns() + core->config.line_ns);
}

void core_listen_event(struct core *core)
{
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		/* cppcheck-suppress nullPointer ; accept4() allows it */
		int fd = accept4(core->config.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			admit_host_client(core, fd);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR && errno != ECONNABORTED) {
			/* No descriptor or no memory is free. The listener would now give an event
			 * in every round, so it is not watched for a second. */
			log_limited(core->config.log, "accept: %s", strerror(errno));
			poll_remove(core->config.epfd, core->config.listen_fd);
			core->accept_again = clock_mono_ns() + NS_PER_S;
			return;
		}
	}
}

/* --- listeners ------------------------------------------------------------------------------- */

int host_dial(struct core *core, const struct host_port *port)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (!*port->path)
		return -1;
	memcpy(addr.sun_path, port->path, sizeof(addr.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* A Unix socket connects at once. If the listener's queue is full, connect() fails. */
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		log_limited(core->config.log, "the listener of host port %u: %s", port->port,
			    strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/* --- bytes of the guest ---------------------------------------------------------------------- */

/* Watches the host's socket for room only while bytes wait for this room. Otherwise the daemon
 * would wake up each time the host's program reads. */
static void watch_room(struct core *core, struct stream *s)
{
	bool wanted = stream_buffered(s) > 0;

	if (s->armed == wanted)
		return;
	if (poll_change(core->config.epfd, s->fd, WATCHED | (wanted ? EPOLLOUT : 0),
			core_ref(core, s)) < 0)
		s->host_gone = true; /* the kernel has no memory, so the stream cannot go on */
	s->armed = wanted;
}

static void drop_buffered(struct stream *s)
{
	s->fwd_cnt = s->rx_cnt;
}

/* If many bytes were forwarded to the host since the guest was last told its credit, notes that the
 * guest must be told its new credit. */
static void consider_credit(const struct core *core, struct stream *s)
{
	if (s->named && s->fwd_cnt - s->told >= core->table.buffer_bytes / 4)
		s->want |= WANT_CREDIT;
}

/* Writes bytes to the host's socket. Returns how many bytes the socket took. After an error other
 * than a full socket, the socket will never take more bytes, and host_gone is set. */
static size_t write_host(struct stream *s, struct iovec *iov, unsigned n)
{
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
	ssize_t done = sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (done < 0 && errno != EAGAIN)
		s->host_gone = true;
	return done > 0 ? (size_t)done : 0;
}

/* Fills iov with the one or two areas of the stream's buffer that have the `len` bytes from the
 * count `from` on. Returns the number of areas. If there is one area, iov[1] is empty. */
static unsigned buffer_pieces(const struct core *core, const struct stream *s, uint32_t from,
			      uint32_t len, struct iovec iov[2])
{
	uint8_t *buffer = stream_buffer(&core->table, s);
	uint32_t at = from & (core->table.buffer_bytes - 1);
	uint32_t to_end = core->table.buffer_bytes - at;
	uint32_t first = len < to_end ? len : to_end;

	iov[0] = (struct iovec){.iov_base = buffer + at, .iov_len = first};
	iov[1] = (struct iovec){.iov_base = buffer, .iov_len = len - first};
	return first < len ? 2 : 1;
}

void host_send(struct core *core, struct stream *s, struct span *payload)
{
	if (!stream_buffered(s) && !s->host_gone && payload->bytes) {
		size_t done = write_host(s, payload->iov, payload->n);

		span_skip(payload, done);
		s->rx_cnt += (uint32_t)done;
		s->fwd_cnt += (uint32_t)done;
	}
	if (s->host_gone) {
		s->rx_cnt += (uint32_t)payload->bytes;
		drop_buffered(s);
	} else if (payload->bytes) {
		uint32_t len = (uint32_t)payload->bytes;
		struct iovec iov[2];

		buffer_pieces(core, s, s->rx_cnt, len, iov);
		span_read(payload, iov[0].iov_base, iov[0].iov_len);
		span_read(payload, iov[1].iov_base, iov[1].iov_len);
		s->rx_cnt += len;
		s->touched = true;
	}
	watch_room(core, s);
	consider_credit(core, s);
}

void host_flush(struct core *core, struct stream *s)
{
	uint32_t waiting = stream_buffered(s);
	struct iovec iov[2];

	if (waiting && !s->host_gone)
		s->fwd_cnt += (uint32_t)write_host(
			s, iov, buffer_pieces(core, s, s->fwd_cnt, waiting, iov));
	if (s->host_gone)
		drop_buffered(s);
	watch_room(core, s);
	consider_credit(core, s);
	if (s->guest_shut & SHUT_SEND && !stream_buffered(s) && !s->host_shut) {
		shutdown(s->fd, SHUT_WR);
		s->host_shut = true;
	}
}

/* --- events ---------------------------------------------------------------------------------- */

static void stream_happened(struct core *core, struct stream *s, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->hung_up = true;
	if (events & (EPOLLHUP | EPOLLERR))
		s->host_gone = true;
	if (s->host_gone && s->state < STREAM_OPEN) {
		/* The client has gone before the guest's answer came, so no process would read the
		 * answer. */
		core_abort(core, s);
		return;
	}
	if (s->state == STREAM_LINE) {
		read_line(core, s);
		return;
	}
	if (events & EPOLLOUT || s->host_gone)
		host_flush(core, s);
	core_settle(core, s);
}

void core_stream_event(struct core *core, union poll_ref ref, uint32_t events)
{
	struct stream *s;

	if (ref.index >= core->table.fresh)
		return;
	s = &core->table.streams[ref.index];
	if (s->state != STREAM_FREE && s->generation == ref.generation && s->fd >= 0)
		stream_happened(core, s, events);
}
