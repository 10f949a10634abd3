/* SPDX-License-Identifier: MIT */
/* A guest with a thread for each connection behind a socket, and clients of it with a thread
 * each. */
#ifndef TEST_CONNECTIONS_FIXTURE_H
#define TEST_CONNECTIONS_FIXTURE_H

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/connections.h"
#include "microagent.h"

#define MOST_CONNECTIONS 16

/* --- the guest ------------------------------------------------------------------------------- */

static struct guest {
	char dir[48];
	int dirfd, listener;
	bool deaf; /* accepts connections and sends nothing */
	bool mute; /* does not answer a cancel */
	pthread_t thread, served[MOST_CONNECTIONS];
	int fds[MOST_CONNECTIONS];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int connections, requests;
	size_t received; /* of the stdin of "deaf" commands */
} guest;

static inline void say(int fd, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, (uint32_t)len);
	if (fd_write_all(fd, header, sizeof(header), NULL) == 0)
		fd_write_all(fd, payload, len, NULL);
}

static inline void say_event(int fd, const char *name, long long request, const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "{\"event\":\"%s\",\"request\":%lld%s}", name, request, more);
	say(fd, text, strlen(text));
}

static inline void say_output(int fd, long long request, const char *text)
{
	uint8_t payload[128];
	size_t len = strlen(text);

	payload[0] = 2;
	be64_put(payload + 1, (uint64_t)request);
	memcpy(payload + 9, text, len);
	say(fd, payload, 9 + len);
}

/* Does what the word of the command says. Returns false if the connection is closed. */
static inline bool begin(int fd, const json_t *message, long long request)
{
	const json_t *cmd = json_object_get(message, "cmd");
	const char *word = json_string_value(json_array_get(cmd, 0));
	const char *text = json_string_value(json_array_get(cmd, 1));

	if (strcmp(word, "close") == 0)
		return false;
	if (strcmp(word, "breach") == 0)
		say_event(fd, "start", 987654, "");
	else if (strcmp(word, "window") == 0 || strcmp(word, "deaf") == 0)
		say_event(fd, "start", request, ",\"stdinOffset\":0");
	else if (strcmp(word, "mute") != 0)
		say_event(fd, "start", request, "");
	if (text)
		say_output(fd, request, text);
	if (strcmp(word, "echo") == 0)
		say_event(fd, "exit", request, ",\"exitCode\":0");
	return true;
}

static inline bool is_mute(void)
{
	bool mute;

	pthread_mutex_lock(&guest.lock);
	mute = guest.mute;
	pthread_mutex_unlock(&guest.lock);
	return mute;
}

static inline void set_mute(bool mute)
{
	pthread_mutex_lock(&guest.lock);
	guest.mute = mute;
	pthread_mutex_unlock(&guest.lock);
}

/* In these tests request 1 takes stdin, and every other request is deaf. */
static inline void take_stdin(int fd, const uint8_t *payload, size_t len, size_t *received)
{
	long long request = (long long)be64_get(payload + 1);
	char more[40];

	if (request != 1) {
		pthread_mutex_lock(&guest.lock);
		guest.received += len - 9;
		pthread_mutex_unlock(&guest.lock);
		return;
	}
	*received += len - 9;
	snprintf(more, sizeof(more), ",\"stdinOffset\":%zu", *received);
	say_event(fd, "ack", request, more);
}

static inline bool serve_message(int fd, const uint8_t *payload, size_t len, size_t *received)
{
	json_auto_t *message = payload[0] == '{' ? json_load_strict(payload, len, NULL) : NULL;
	long long request = json_integer_value(json_object_get(message, "request"));
	const char *event = json_string_value(json_object_get(message, "event"));
	char count[32];
	bool goes_on = true;

	if (payload[0] == 1)
		take_stdin(fd, payload, len, received);
	if (event && strcmp(event, "stdin-close") == 0) {
		snprintf(count, sizeof(count), "%zu", *received);
		say_output(fd, request, count);
		say_event(fd, "exit", request, ",\"exitCode\":0");
	} else if (event && strcmp(event, "cancel") == 0 && !is_mute()) {
		say_event(fd, "exit", request, ",\"exitCode\":137,\"signal\":9,\"killed\":true");
	} else if (message && !event) {
		goes_on = begin(fd, message, request);
	}
	pthread_mutex_lock(&guest.lock);
	guest.requests += message && !event;
	pthread_cond_broadcast(&guest.changed);
	pthread_mutex_unlock(&guest.lock);
	return goes_on;
}

static inline void *serve(void *data)
{
	int fd = (int)(intptr_t)data;
	uint8_t header[FRAME_HEADER], *payload = malloc(1 << 20);
	char line[13];
	size_t len, received = 0;

	if (fd_read_exact(fd, line, sizeof(line), NULL) < 0 || guest.deaf ||
	    fd_write_all(fd, "OK 1\n", 5, NULL) < 0)
		goto end;
	while (fd_read_exact(fd, header, sizeof(header), NULL) == 0) {
		len = be32_get(header);
		if (len > 1 << 20 || fd_read_exact(fd, payload, len, NULL) < 0 ||
		    !serve_message(fd, payload, len, &received))
			break;
	}
	shutdown(fd, SHUT_RDWR);
end:
	free(payload);
	return NULL;
}

static inline void *accept_all(void *data)
{
	(void)data;
	for (;;) {
		int fd = fd_wait(guest.listener, POLLIN, UINT64_MAX, NULL) < 0
				 ? -1
				 : sock_accept(guest.listener, NULL);

		if (fd < 0)
			return NULL;
		pthread_mutex_lock(&guest.lock);
		if (guest.connections == MOST_CONNECTIONS)
			abort();
		guest.fds[guest.connections] = fd;
		pthread_create(&guest.served[guest.connections++], NULL, serve,
			       (void *)(intptr_t)fd);
		pthread_mutex_unlock(&guest.lock);
	}
}

static inline int guest_open(void **state)
{
	(void)state;
	guest = (struct guest){.dir = "/tmp/microagent-connections-XXXXXX"};
	pthread_mutex_init(&guest.lock, NULL);
	pthread_cond_init(&guest.changed, NULL);
	assert_non_null(mkdtemp(guest.dir));
	guest.dirfd = path_open_dir(guest.dir, NULL);
	guest.listener = sock_listen_at(guest.dirfd, "vsock.sock", NULL);
	assert_true(guest.listener >= 0);
	return pthread_create(&guest.thread, NULL, accept_all, NULL);
}

static inline int guest_close(void **state)
{
	(void)state;
	shutdown(guest.listener, SHUT_RDWR);
	pthread_join(guest.thread, NULL);
	for (int i = 0; i < guest.connections; i++) {
		shutdown(guest.fds[i], SHUT_RDWR);
		pthread_join(guest.served[i], NULL);
		close(guest.fds[i]);
	}
	close(guest.listener);
	unlinkat(guest.dirfd, "vsock.sock", 0);
	close(guest.dirfd);
	return rmdir(guest.dir);
}

static inline void wait_for_requests(int count)
{
	pthread_mutex_lock(&guest.lock);
	while (guest.requests < count)
		pthread_cond_wait(&guest.changed, &guest.lock);
	pthread_mutex_unlock(&guest.lock);
}

/* --- clients --------------------------------------------------------------------------------- */

struct client {
	struct connections *connections;
	const char *word;
	char text[32];
	const void *in;
	size_t in_len;
	int runs, cancel;
	uint32_t timeout_ms;
	pthread_t thread;
	int status;
	struct error err;
	struct microagent_result result; /* of the last run */
};

static inline void *run_client(void *data)
{
	struct client *c = data;
	const char *const words[] = {c->word, c->text[0] ? c->text : NULL, NULL};
	const struct microagent_exec exec = {.command = words};
	uint64_t deadline = clock_mono_ns() + c->timeout_ms * NS_PER_MS;

	for (int i = 0; i < c->runs && c->status == 0; i++) {
		struct shared_request request = {.exec = &exec,
						 .in = c->in,
						 .in_len = c->in_len,
						 .cap = {99, 99},
						 .cancel = c->cancel,
						 .deadline_ns =
							 c->timeout_ms ? deadline : UINT64_MAX};

		microagent_result_free(&c->result);
		c->status = connections_run(c->connections, &request, &c->result, &c->err);
		if (c->status == 0 && c->text[0] && strcmp(c->result.stdout_bytes, c->text) != 0)
			c->status = -2;
	}
	return NULL;
}

static inline struct client client_of(struct connections *connections, const char *word)
{
	return (struct client){.connections = connections, .word = word, .runs = 1, .cancel = -1};
}

static inline void start(struct client *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, run_client, c), 0);
}

static inline void finish(struct client *c)
{
	pthread_join(c->thread, NULL);
	microagent_result_free(&c->result);
}

static inline void assert_echo(struct connections *connections)
{
	struct client c = client_of(connections, "echo");

	strcpy(c.text, "hello");
	run_client(&c);
	assert_int_equal(c.status, 0);
	microagent_result_free(&c.result);
}

#define WITH_GUEST(test) cmocka_unit_test_setup_teardown(test, guest_open, guest_close)

#endif
