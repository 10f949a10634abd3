/* SPDX-License-Identifier: MIT */
#include "supervisor/live/control_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#define CLIENTS_MAX CONTROL_SOCK_CLIENTS
#define REQUEST_MAX 65536u
#define READ_CHUNK 4096u

struct control_client {
	struct control_sock *server;
	int fd;	    /* the connection; -1: this entry is free */
	int passed; /* a descriptor that came with the request; -1: none came */
	struct loop_watch *watch, *timer;
	struct buf in;
	bool deferred; /* the answer is sent later; the entry is in use until then */
	/* Called when the connection, which stays open after the answer, has ended; NULL: the
	 * connection is closed after the answer. */
	control_sock_gone_fn *gone;
	void *gone_data;
};

struct control_sock {
	struct loop *loop;
	struct log *log;
	int listen_fd;
	/* A spare descriptor, which is closed when a client connects and no other descriptor is
	 * free. So a machine can be ended or put into quarantine even if the live supervisor has
	 * too many files open. -1: the spare descriptor is already closed. */
	int spare;
	struct loop_watch *watch;
	struct loop_watch *again; /* the timer until clients are accepted again; NULL: clients are
				   * accepted */
	control_sock_fn *fn;
	void *data;
	struct control_client clients[CLIENTS_MAX];
};

/* Makes the spare descriptor, if the process may still open a descriptor. The spare descriptor is a
 * duplicate of the standard input, since a confined live supervisor cannot open /dev/null. */
static void keep_spare(struct control_sock *server)
{
	if (server->spare < 0)
		server->spare = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* Accepts clients while an entry and a descriptor are free. At other times new clients wait in the
 * kernel's queue. */
static void listen_for_askers(struct control_sock *server)
{
	bool room = false;
	struct error err;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		room = room || server->clients[i].fd < 0;
	if (loop_set_events(server->watch, room && !server->again ? LOOP_IN : 0, &err) < 0)
		log_line(server->log, "control.sock: %s", err.msg);
}

static void drop_asker(struct control_client *client)
{
	loop_remove(client->watch);
	loop_remove(client->timer);
	client->watch = client->timer = NULL;
	cleanup_close(&client->fd);
	cleanup_close(&client->passed);
	client->fd = client->passed = -1;
	client->deferred = false;
	client->gone = NULL;
	buf_free(&client->in);
}

static void end_client(struct control_client *client)
{
	drop_asker(client);
	keep_spare(client->server);
	listen_for_askers(client->server);
}

/* Sends the answer. The answer is small and the buffer of the socket is empty, so send() accepts
 * the whole answer. Only a client that has filled the buffer itself loses a part of it. */
static void send_answer(int fd, const json_t *answer)
{
	autofree char *text = answer ? json_line(answer, NULL) : NULL;

	if (!text)
		return;
	if (send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		(void)!send(fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

json_t *control_sock_refusal(const struct error *error)
{
	json_auto_t *answer = json_object();

	if (!answer || json_put(answer, "ok", json_false(), NULL) < 0 ||
	    json_put_error(answer, error, NULL) < 0)
		return NULL;
	return steal_ptr(&answer);
}

static void serve_asker(struct control_client *client, size_t len)
{
	struct error err = {0};
	json_auto_t *request = json_load_strict(buf_bytes(&client->in), len, &err);
	json_auto_t *answer = NULL;

	if (request && !json_is_object(request))
		error_set(
			&err, ERR_INVALID,
			"the request to the live supervisor is not a JSON object: send one object in one line");
	answer = err.code ? control_sock_refusal(&err)
			  : client->server->fn(client->server->data, request, client);
	if (client->deferred || client->fd < 0)
		return; /* the answer is deferred, or was already sent */
	send_answer(client->fd, answer);
	if (!client->gone)
		end_client(client);
}

void control_sock_keep(struct control_client *client, control_sock_gone_fn *fn, void *data)
{
	loop_remove(steal_ptr(&client->timer));
	client->gone = fn;
	client->gone_data = data;
}

static void hear_kept(struct control_client *client)
{
	control_sock_gone_fn *fn = client->gone;
	void *data = client->gone_data;
	char bytes[256];
	ssize_t n = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	end_client(client);
	fn(data, n > 0);
}

/* Stops reading from the client until the answer is sent. The live supervisor does not notice
 * meanwhile if the client disconnects. */
void control_sock_defer(struct control_client *client)
{
	loop_remove(client->watch);
	loop_remove(client->timer);
	client->watch = client->timer = NULL;
	client->deferred = true;
}

void control_sock_answer(struct control_client *client, const json_t *answer)
{
	send_answer(client->fd, answer);
	end_client(client);
}

int control_sock_passed(struct control_client *client)
{
	return steal_fd(&client->passed);
}

/* Reads bytes of a request. Descriptors may be passed with them. Keeps the first descriptor of a
 * request and closes all others. */
static ssize_t receive_request(struct control_client *client, uint8_t *room)
{
	int passed = -1;
	size_t count = 1;
	ssize_t n = fd_receive_passed(client->fd, room, READ_CHUNK, &passed, &count, MSG_DONTWAIT);

	if (n >= 0 && count && client->passed < 0)
		client->passed = steal_fd(&passed);
	if (n >= 0 && count)
		cleanup_close(&passed);
	return n;
}

static void on_asker(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct control_client *client = data;
	struct error err;
	uint8_t *room, *end;
	ssize_t n;

	(void)loop, (void)fd;
	(void)events;
	if (client->gone) {
		hear_kept(client);
		return;
	}
	room = buf_reserve(&client->in, READ_CHUNK, &err);
	n = room ? receive_request(client, room) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_commit(&client->in, (size_t)n);
	end = memchr(buf_bytes(&client->in), '\n', client->in.len);
	if (end)
		serve_asker(client, (size_t)(end - buf_bytes(&client->in)));
	else if (n == 0 && room && client->in.len > 0)
		serve_asker(client, client->in.len);
	else if (n <= 0)
		end_client(client);
}

static void on_client_timer(struct loop *loop, void *data)
{
	struct control_client *client = data;

	(void)loop;
	client->timer = NULL;
	end_client(client);
}

static int admit_asker(struct control_sock *server, struct control_client *client, int fd,
		       struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CONTROL_REQUEST_MS);

	client->server = server;
	client->fd = fd;
	client->in = (struct buf)BUF_INIT(REQUEST_MAX);
	client->watch = loop_add_fd(server->loop, fd, LOOP_IN, on_asker, client, err);
	client->timer = loop_add_timer(server->loop, deadline, on_client_timer, client, err);
	if (client->watch && client->timer)
		return 0;
	drop_asker(client);
	return -1;
}

static void on_accept_again(struct loop *loop, void *data)
{
	struct control_sock *server = data;

	(void)loop;
	server->again = NULL;
	keep_spare(server);
	listen_for_askers(server);
}

/* Accepts no client for LIMIT_ACCEPT_AGAIN_MS, since no descriptor is free. */
static void accept_later(struct control_sock *server)
{
	struct error err;

	server->again = loop_add_timer(server->loop, limit_deadline(LIMIT_ACCEPT_AGAIN_MS),
				       on_accept_again, server, &err);
	if (!server->again)
		log_limited(server->log, "control.sock: %s", err.msg);
	listen_for_askers(server);
}

/* Accepts a client. If no descriptor is free, first closes the spare descriptor. Returns -1 if no
 * client can be accepted at present. */
static int accept_asker(struct control_sock *server)
{
	struct error err = {0};
	int peer = sock_accept(server->listen_fd, &err);

	if (peer < 0 && fd_is_lacking(err.errnum) && server->spare >= 0) {
		close(steal_fd(&server->spare));
		peer = sock_accept(server->listen_fd, &err);
	}
	if (peer < 0 && fd_is_lacking(err.errnum))
		accept_later(server);
	return peer;
}

static void on_asker_listener(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct control_sock *server = data;
	struct error err = {0};
	int peer = accept_asker(server);

	(void)loop;
	(void)fd;
	(void)events;
	if (peer < 0)
		return;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (server->clients[i].fd >= 0)
			continue;
		if (admit_asker(server, &server->clients[i], peer, &err) < 0)
			log_line(server->log, "control.sock: %s", err.msg);
		listen_for_askers(server);
		return;
	}
	close(peer);
}

struct control_sock *control_sock_new(struct loop *loop, int listen_fd, control_sock_fn *fn,
				      void *data, struct log *log, struct error *err)
{
	struct control_sock *server = calloc(1, sizeof(*server));

	if (!server) {
		close(listen_fd);
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	server->loop = loop;
	server->log = log;
	server->listen_fd = listen_fd;
	server->spare = -1;
	keep_spare(server);
	server->fn = fn;
	server->data = data;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		server->clients[i].fd = server->clients[i].passed = -1;
	server->watch = loop_add_fd(loop, listen_fd, LOOP_IN, on_asker_listener, server, err);
	if (!server->watch) {
		control_sock_free(server);
		return NULL;
	}
	return server;
}

void control_sock_free(struct control_sock *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		drop_asker(&server->clients[i]);
	loop_remove(server->watch);
	loop_remove(server->again);
	cleanup_close(&server->spare);
	close(server->listen_fd);
	free(server);
}
