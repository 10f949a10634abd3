/* SPDX-License-Identifier: MIT */
/*
 * Connects the guest's vsock with sockets of the workspace, in the form that all backends use. A
 * client that connects to vsock.sock sends CONNECT <port>. When the framework has connected to that
 * port of the guest, the client gets OK, and its socket is joined to the framework's connection. A
 * connection from the guest to a port of the host is joined to a new connection to
 * vsock.sock_<port>. All connections are sockets, so the relay code that all backends share copies
 * the bytes between them.
 *
 * The framework sets no limits, so this file has limits. The line of a client and the answer of the
 * guest must come before a deadline. At most LIMIT_VSOCK_STREAMS streams exist at the same time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "applevf/applevf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/relay.h"

#define LINE_BYTES 32 /* the room for a line; "CONNECT 4294967295\n", the longest, has 19 bytes */

struct stream {
	struct vm *vm;
	struct list_link link;
	uint64_t id;
	int fd;			  /* the host's socket until the two sockets are joined; -1: none */
	struct loop_watch *watch; /* the watch that reads the client's line */
	/* The timer of the time limit for the client's line, and then for the guest's answer. */
	struct loop_watch *timer;
	uint32_t port;
	bool to_guest;	  /* a client of the host has opened this stream, which is joined */
	void *connection; /* the framework's object for the connection; NULL: none yet */
	struct relay *relay;
};

static void tell_streams(struct vm *vm, bool were)
{
	bool are = vm->streams.to_guest > 0;

	if (are != were && vm->events.streams)
		vm->events.streams(vm->events.data, are);
}

static void drop_stream(struct stream *s)
{
	struct vm *vm = s->vm;
	bool were = vm->streams.to_guest > 0;

	loop_remove(s->watch);
	loop_remove(s->timer);
	relay_free(s->relay);
	cleanup_close(&s->fd);
	if (s->connection)
		vz_hang_up(vm->vz, s->connection);
	list_remove(&s->link);
	vm->streams.count--;
	vm->streams.to_guest -= s->to_guest;
	free(s);
	tell_streams(vm, were);
	if (vm->streams.count == 0)
		applevf_quiet(vm);
}

static void on_relay_ended(void *data)
{
	drop_stream(data);
}

/* Adds a stream with the host's socket `fd`. Takes ownership of `fd`. If there are too many streams
 * or no memory, closes `fd` and returns NULL. */
static struct stream *add_stream(struct vm *vm, int fd)
{
	struct stream *s =
		vm->streams.count < limit_get(LIMIT_VSOCK_STREAMS) ? calloc(1, sizeof(*s)) : NULL;

	if (!s) {
		close(fd);
		return NULL;
	}
	*s = (struct stream){.vm = vm, .id = ++vm->streams.last_id, .fd = fd};
	list_add(&vm->streams.list, &s->link);
	vm->streams.count++;
	return s;
}

/* Joins a stream to the guest's connection. Takes ownership of `guest_fd`. */
static void join_stream(struct stream *s, int guest_fd)
{
	struct vm *vm = s->vm;
	struct error err = {0};

	s->relay = relay_new(vm->loop, steal_fd(&s->fd), guest_fd, on_relay_ended, s, &err);
	if (s->relay) {
		/* If the host's socket is closed, sets a time limit for the delivery of its last
		 * bytes. Only after these bytes the guest learns that the socket was closed. */
		relay_hurry(s->relay, 0);
		return;
	}
	log_limited(vm->log, "vsock: %s", err.msg);
	drop_stream(s);
}

/* --- from the host ---------------------------------------------------------------------------- */

/* Parses the port from a line that is exactly "CONNECT <port>\n". `len` includes the newline.
 * Returns false for any other line. */
static bool read_connect(const char *line, size_t len, uint32_t *port)
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
	*port = (uint32_t)value;
	return value <= UINT32_MAX;
}

static void on_stream_timer(struct loop *loop, void *data)
{
	struct stream *s = data;

	(void)loop;
	s->timer = NULL;
	drop_stream(s);
}

static bool set_stream_timer(struct stream *s, enum limit limit)
{
	struct error ignored;

	loop_remove(s->timer);
	s->timer = loop_add_timer(s->vm->loop, limit_deadline(limit), on_stream_timer, s, &ignored);
	return s->timer != NULL;
}

static void ask_guest(struct stream *s)
{
	loop_remove(steal_ptr(&s->watch));
	if (set_stream_timer(s, LIMIT_VSOCK_ANSWER_MS))
		vz_connect(s->vm->vz, s->port, s->id);
	else
		drop_stream(s);
}

/* Reads the client's line. First looks at the bytes with MSG_PEEK, since bytes after the newline
 * are payload and must stay in the socket. */
static void on_connect_line(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct stream *s = data;
	char line[LINE_BYTES];
	ssize_t got = recv(fd, line, sizeof(line), MSG_PEEK | MSG_DONTWAIT);
	const char *newline = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
	size_t len = newline ? (size_t)(newline - line) + 1 : 0;

	(void)loop;
	if (!newline && !(events & (LOOP_HUP | LOOP_ERR | LOOP_RDHUP)) &&
	    ((got < 0 && errno == EAGAIN) || (got > 0 && (size_t)got < sizeof(line))))
		return;
	/* Also reads a line that is refused. Otherwise a close with unread bytes would reset the
	 * client's connection. */
	if (recv(fd, line, newline ? len : sizeof(line), MSG_DONTWAIT) == (ssize_t)len && newline &&
	    read_connect(line, len, &s->port))
		ask_guest(s);
	else
		drop_stream(s);
}

static void on_accept_again(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error ignored;

	(void)loop;
	vm->streams.again = NULL;
	(void)loop_set_events(vm->streams.watch, LOOP_IN, &ignored);
}

/* Accepts no connections for LIMIT_ACCEPT_AGAIN_MS milliseconds, since this process has no free
 * file descriptor at present. */
static void accept_later(struct vm *vm, const struct error *why)
{
	struct error ignored;

	if (why->code == ERR_UNAVAILABLE && why->errnum == 0)
		return; /* the client has already closed its connection */
	log_limited(vm->log, "vsock: %s", why->msg);
	vm->streams.again = loop_add_timer(vm->loop, limit_deadline(LIMIT_ACCEPT_AGAIN_MS),
					   on_accept_again, vm, &ignored);
	if (vm->streams.again)
		(void)loop_set_events(vm->streams.watch, 0, &ignored);
}

static void on_vsock_listener(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	struct error err = {0};
	autoclose int peer = sock_accept(fd, &err);
	struct stream *s;

	(void)events;
	if (peer < 0 || fd_nonblock(peer, true, &err) < 0) {
		accept_later(vm, &err);
		return;
	}
	s = add_stream(vm, steal_fd(&peer));
	if (!s)
		return;
	s->watch = loop_add_fd(loop, s->fd, LOOP_IN | LOOP_RDHUP, on_connect_line, s, &err);
	if (!s->watch || !set_stream_timer(s, LIMIT_VSOCK_LINE_MS))
		drop_stream(s);
}

static struct stream *find_stream(struct vm *vm, uint64_t id)
{
	struct stream *s;

	list_each (s, &vm->streams.list, link)
		if (s->id == id)
			return s;
	return NULL;
}

/* Sends OK to the client. The socket's send buffer is empty, so the kernel takes the whole line. */
static bool say_ok(const struct stream *s)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "OK %u\n", (unsigned)(s->id & UINT32_MAX));

	return send(s->fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
}

static void refuse_connection(struct vm *vm, const struct letter *letter)
{
	if (letter->fd >= 0)
		close(letter->fd);
	if (letter->connection)
		vz_hang_up(vm->vz, letter->connection);
}

void streams_connected(struct vm *vm, const struct letter *letter)
{
	struct stream *s = find_stream(vm, letter->id);

	/* Refuses the connection if the client has closed its socket, or if no program of the guest
	 * listens on that port. */
	if (!s || letter->fd < 0) {
		refuse_connection(vm, letter);
		if (s)
			drop_stream(s);
		return;
	}
	s->connection = letter->connection;
	loop_remove(steal_ptr(&s->timer));
	if (!say_ok(s)) {
		close(letter->fd);
		drop_stream(s);
		return;
	}
	s->to_guest = true;
	vm->streams.to_guest++;
	tell_streams(vm, vm->streams.to_guest > 1);
	join_stream(s, letter->fd);
}

/* --- from the guest --------------------------------------------------------------------------- */

/* Returns true if this connection shows that the guest was reset. A reset ends all connections, and
 * the guest's first connection of each boot is to the boot port. */
static bool is_another_boot(struct vm *vm, const struct letter *letter)
{
	const struct streams *streams = &vm->streams;

	return letter->port == streams->boot_port && streams->boot_id > 0 &&
	       !find_stream(vm, streams->boot_id);
}

void streams_accepted(struct vm *vm, const struct letter *letter)
{
	char name[32];
	struct error err = {0};
	struct stream *s;
	int fd;

	if (is_another_boot(vm, letter)) {
		refuse_connection(vm, letter);
		applevf_was_reset(vm);
		return;
	}
	snprintf(name, sizeof(name), "vsock.sock_%u", letter->port);
	fd = vm->severing || vm->ending ? -1 : sock_connect_now_at(vm->workspace_fd, name, &err);
	s = fd >= 0 ? add_stream(vm, fd) : NULL;
	if (!s) {
		refuse_connection(vm, letter);
		return;
	}
	s->connection = letter->connection;
	if (letter->port == vm->streams.boot_port)
		vm->streams.boot_id = s->id;
	join_stream(s, letter->fd);
}

/* --- all of them ------------------------------------------------------------------------------ */

int streams_open(struct vm *vm, int listen_fd, struct error *err)
{
	struct streams *streams = &vm->streams;

	streams->listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 3);
	if (streams->listen_fd < 0)
		return error_errno(err, errno, "vsock.sock");
	streams->watch =
		loop_add_fd(vm->loop, streams->listen_fd, LOOP_IN, on_vsock_listener, vm, err);
	return streams->watch ? 0 : -1;
}

void streams_stop(struct vm *vm)
{
	loop_remove(steal_ptr(&vm->streams.watch));
	loop_remove(steal_ptr(&vm->streams.again));
	cleanup_close(&vm->streams.listen_fd);
	vm->streams.listen_fd = -1;
}

void streams_close(struct vm *vm)
{
	struct stream *s;

	streams_stop(vm);
	list_each (s, &vm->streams.list, link)
		drop_stream(s);
}
