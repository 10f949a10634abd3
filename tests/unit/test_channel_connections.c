/* SPDX-License-Identifier: MIT */
/* Requests of many threads to one guest, which is a thread per connection behind a socket. */
#include <errno.h>
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
#include "base/limits.h"
#include "base/path.h"
#include "channel/connections.h"
#include "microagent.h"

#define MOST_CONNECTIONS 16
#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

/* --- the guest ------------------------------------------------------------------------------- */

static struct guest {
	char dir[48];
	int dirfd, listener;
	bool deaf; /* takes connections and says nothing */
	bool mute; /* does not answer a cancel */
	pthread_t thread, served[MOST_CONNECTIONS];
	int fds[MOST_CONNECTIONS];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int connections, requests;
	size_t received; /* of the stdin of "deaf" commands */
} guest;

static void say(int fd, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, (uint32_t)len);
	if (fd_write_all(fd, header, sizeof(header), NULL) == 0)
		fd_write_all(fd, payload, len, NULL);
}

static void say_event(int fd, const char *name, long long request, const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "{\"event\":\"%s\",\"request\":%lld%s}", name, request, more);
	say(fd, text, strlen(text));
}

static void say_output(int fd, long long request, const char *text)
{
	uint8_t payload[128];
	size_t len = strlen(text);

	payload[0] = 2;
	be64_put(payload + 1, (uint64_t)request);
	memcpy(payload + 9, text, len);
	say(fd, payload, 9 + len);
}

/* The word of the command says what becomes of it. False: the connection is closed. */
static bool begin(int fd, const json_t *message, long long request)
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

static bool is_mute(void)
{
	bool mute;

	pthread_mutex_lock(&guest.lock);
	mute = guest.mute;
	pthread_mutex_unlock(&guest.lock);
	return mute;
}

static void set_mute(bool mute)
{
	pthread_mutex_lock(&guest.lock);
	guest.mute = mute;
	pthread_mutex_unlock(&guest.lock);
}

/* Request 1 is the one that takes stdin, in these tests; every other is deaf. */
static void take_stdin(int fd, const uint8_t *payload, size_t len, size_t *received)
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

static bool serve_message(int fd, const uint8_t *payload, size_t len, size_t *received)
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

static void *serve(void *data)
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

static void *accept_all(void *data)
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

static int guest_open(void **state)
{
	(void)state;
	guest = (struct guest){.dir = "/tmp/microagent-connections-XXXXXX"};
	pthread_mutex_init(&guest.lock, NULL);
	pthread_cond_init(&guest.changed, NULL);
	assert_non_null(mkdtemp(guest.dir));
	guest.dirfd = path_open_dir(guest.dir, NULL);
	guest.listener = sock_listen_at(guest.dirfd, "vsock.sock", 64, NULL);
	assert_true(guest.listener >= 0);
	return pthread_create(&guest.thread, NULL, accept_all, NULL);
}

static int guest_close(void **state)
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

static void wait_for_requests(int count)
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

static void *run_client(void *data)
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

static struct client client_of(struct connections *connections, const char *word)
{
	return (struct client){.connections = connections, .word = word, .runs = 1, .cancel = -1};
}

static void start(struct client *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, run_client, c), 0);
}

static void finish(struct client *c)
{
	pthread_join(c->thread, NULL);
	microagent_result_free(&c->result);
}

static void assert_echo(struct connections *connections)
{
	struct client c = client_of(connections, "echo");

	strcpy(c.text, "hello");
	run_client(&c);
	assert_int_equal(c.status, 0);
	microagent_result_free(&c.result);
}

static void test_many_threads_share_a_connection(void **state)
{
	static struct client clients[64];
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 64; i++) {
		clients[i] = client_of(&connections, "echo");
		clients[i].runs = 50;
		snprintf(clients[i].text, sizeof(clients[i].text), "client %d", i);
		start(&clients[i]);
	}
	for (int i = 0; i < 64; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, 0);
	}
	assert_int_equal(guest.connections, 1);
	connections_free(&connections);
}

static void test_more_than_a_connection_takes(void **state)
{
	static struct client clients[300];
	struct connections connections;
	int cancel = eventfd(0, 0);

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 300; i++) {
		clients[i] = client_of(&connections, "hang");
		clients[i].cancel = cancel;
		start(&clients[i]);
	}
	wait_for_requests(300);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	for (int i = 0; i < 300; i++) {
		pthread_join(clients[i].thread, NULL);
		assert_int_equal(clients[i].status, 0);
		assert_true(clients[i].result.cancelled);
		assert_true(clients[i].result.killed);
		microagent_result_free(&clients[i].result);
	}
	assert_int_equal(guest.connections, 2);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	close(cancel);
	connections_free(&connections);
}

/* What ends the connection ends every call on it, and the next one dials again. */
static void broken_by(const char *word, enum error_code code)
{
	struct client clients[9];
	struct connections connections;

	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 9; i++)
		clients[i] = client_of(&connections, i < 8 ? "hang" : word);
	for (int i = 0; i < 8; i++)
		start(&clients[i]);
	wait_for_requests(8);
	start(&clients[8]);
	for (int i = 0; i < 9; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, -1);
		assert_int_equal(clients[i].err.code, code);
	}
	assert_int_equal(guest.connections, 1);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	connections_free(&connections);
}

static void test_a_breach_ends_all(void **state)
{
	(void)state;
	broken_by("breach", ERR_IO);
}

static void test_a_lost_connection_ends_all(void **state)
{
	(void)state;
	broken_by("close", ERR_UNAVAILABLE);
}

static void test_a_time_limit_ends_a_command(void **state)
{
	struct client c;
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	assert_echo(&connections); /* the guest is reached; a limit before that is an error */
	c = client_of(&connections, "hang");
	c.timeout_ms = 20;
	run_client(&c);
	assert_int_equal(c.status, 0);
	assert_true(c.result.timed_out);
	assert_false(c.result.cancelled);
	assert_int_equal(c.result.signal, 9);
	microagent_result_free(&c.result);
	assert_echo(&connections);
	assert_int_equal(guest.connections, 1);
	connections_free(&connections);
}

static void test_an_agent_that_never_answers(void **state)
{
	struct client other, c;
	struct connections connections;
	int cancel = eventfd(0, 0);

	(void)state;
	set_mute(true);
	limit_set(LIMIT_CANCEL_MS, 500);
	connections_init(&connections, guest.dirfd);
	other = client_of(&connections, "hang");
	other.cancel = cancel;
	start(&other);
	wait_for_requests(1);
	c = client_of(&connections, "mute");
	c.timeout_ms = 20;
	run_client(&c);
	assert_int_equal(c.status, -1);
	assert_int_equal(c.err.code, ERR_TIMEOUT);
	assert_non_null(strstr(c.err.msg, "the guest does not answer"));
	/* The connection takes no more, and who was on it is not disturbed. */
	assert_echo(&connections);
	assert_int_equal(guest.connections, 2);
	assert_int_equal(pthread_tryjoin_np(other.thread, NULL), EBUSY);
	set_mute(false);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.status, 0);
	assert_true(other.result.cancelled);
	microagent_result_free(&other.result);
	limit_reset(LIMIT_CANCEL_MS);
	close(cancel);
	connections_free(&connections);
}

static void test_a_guest_that_is_never_reached(void **state)
{
	struct client clients[4];
	struct connections connections;

	(void)state;
	guest.deaf = true;
	connections_init(&connections, guest.dirfd);
	limit_set(LIMIT_DIAL_MS, 100);
	for (int i = 0; i < 4; i++) {
		clients[i] = client_of(&connections, "echo");
		clients[i].timeout_ms = i == 3 ? 20 : 0;
		start(&clients[i]);
	}
	for (int i = 0; i < 4; i++) {
		finish(&clients[i]);
		assert_int_equal(clients[i].status, -1);
		assert_int_equal(clients[i].err.code, ERR_TIMEOUT);
		assert_non_null(strstr(clients[i].err.msg, "the guest does not answer"));
	}
	limit_reset(LIMIT_DIAL_MS);
	connections_free(&connections);
}

static int refuse_first(void *data, enum microagent_output which, const void *bytes, size_t len)
{
	int *count = data;

	(void)which;
	(void)bytes;
	(void)len;
	return ++*count == 1;
}

static void test_output_that_is_refused(void **state)
{
	static const char *const words[] = {"hang", "some output", NULL};
	const struct microagent_exec exec = {.command = words};
	int count = 0;
	const struct microagent_callbacks callbacks = {.output = refuse_first, .data = &count};
	struct shared_request request = {
		.exec = &exec, .callbacks = &callbacks, .cancel = -1, .deadline_ns = UINT64_MAX};
	struct microagent_result result;
	struct connections connections;

	(void)state;
	connections_init(&connections, guest.dirfd);
	for (int i = 0; i < 3; i++) {
		count = 0;
		assert_int_equal(connections_run(&connections, &request, &result, NULL), 0);
		assert_true(result.cancelled);
		assert_int_equal(count, 1);
		assert_null(result.stdout_bytes);
	}
	assert_int_equal(guest.connections, 1); /* kept for the next */
	connections_free(&connections);
}

/* With an agent that has windows, and with one that knows of none. */
static void count_stdin(struct connections *connections, const char *word, size_t len)
{
	static char bytes[1000000];
	const char *const words[] = {word, NULL};
	const struct microagent_exec exec = {.command = words};
	const struct shared_request request = {.exec = &exec,
					       .in = bytes,
					       .in_len = len,
					       .cap = {99, 99},
					       .cancel = -1,
					       .deadline_ns = UINT64_MAX};
	struct microagent_result result;
	char want[32];

	assert_int_equal(connections_run(connections, &request, &result, NULL), 0);
	snprintf(want, sizeof(want), "%zu", len);
	assert_string_equal(result.stdout_bytes, want);
	microagent_result_free(&result);
}

static void test_stdin(void **state)
{
	static const size_t sizes[] = {0, 5, 32768, 1000000};
	struct connections connections;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		connections_init(&connections, guest.dirfd);
		count_stdin(&connections, i % 2 ? "window" : "count", sizes[i]);
		connections_free(&connections);
	}
	connections_init(&connections, guest.dirfd);
	count_stdin(&connections, "window", 1000000);
	connections_free(&connections);
}

static size_t received(void)
{
	size_t n;

	pthread_mutex_lock(&guest.lock);
	n = guest.received;
	pthread_mutex_unlock(&guest.lock);
	return n;
}

/* Commands that do not read theirs keep nobody else from the connection, and hear of a cancel. */
static void test_stdin_that_nobody_reads(void **state)
{
	static char bytes[1000000];
	static struct client deaf[8];
	struct client first;
	struct connections connections;
	int cancel = eventfd(0, 0), end = eventfd(0, 0);

	(void)state;
	connections_init(&connections, guest.dirfd);
	first = client_of(&connections, "hang");
	first.cancel = end;
	start(&first);
	wait_for_requests(1);
	for (int i = 0; i < 8; i++) {
		deaf[i] = client_of(&connections, "deaf");
		deaf[i].in = bytes;
		deaf[i].in_len = sizeof(bytes);
		deaf[i].cancel = cancel;
		start(&deaf[i]);
	}
	while (received() < (size_t)8 * WINDOW)
		assert_echo(&connections);
	assert_echo(&connections);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(deaf[i].thread, NULL);
		assert_int_equal(deaf[i].status, 0);
		assert_true(deaf[i].result.cancelled && deaf[i].result.killed);
		microagent_result_free(&deaf[i].result);
	}
	assert_int_equal(received(), (size_t)8 * WINDOW);
	assert_int_equal(guest.connections, 1);
	assert_int_equal(eventfd_write(end, 1), 0);
	finish(&first);
	close(cancel);
	close(end);
	connections_free(&connections);
}

#define WITH_GUEST(test) cmocka_unit_test_setup_teardown(test, guest_open, guest_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GUEST(test_many_threads_share_a_connection),
		WITH_GUEST(test_more_than_a_connection_takes),
		WITH_GUEST(test_a_breach_ends_all),
		WITH_GUEST(test_a_lost_connection_ends_all),
		WITH_GUEST(test_a_time_limit_ends_a_command),
		WITH_GUEST(test_an_agent_that_never_answers),
		WITH_GUEST(test_a_guest_that_is_never_reached),
		WITH_GUEST(test_output_that_is_refused),
		WITH_GUEST(test_stdin),
		WITH_GUEST(test_stdin_that_nobody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
