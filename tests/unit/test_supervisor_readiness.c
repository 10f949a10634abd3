/* SPDX-License-Identifier: MIT */
/* Tests readiness as the live supervisor reports it over control.sock, with an agent and a
 * mediation target of the test, on the virtual clock. */
#include "test_base.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/readiness.h"

#define BEGUN (1000 * NS_PER_S)
#define READY_AT "2026-05-02T00:00:00.000Z"

struct stage {
	struct scratch *scratch;
	struct loop *loop;
	struct log log;
	struct control_sock *server;
	struct readiness *readiness;
	struct target *mediation;
	const char *ready_at;
	int agent; /* listens as vsock.sock */
};

static json_t *on_request(void *data, const json_t *request, struct control_client *client)
{
	struct stage *stage = data;
	struct error err = {0};

	(void)request;
	assert_ok(readiness_ask(stage->readiness, stage->ready_at, stage->mediation, client, &err));
	return NULL;
}

static int stage_make(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	void *scratch = NULL;
	int listener;

	clock_set_virtual(BEGUN);
	if (scratch_make(&scratch) < 0)
		return -1;
	stage->scratch = scratch;
	log_init(&stage->log, -1, 0);
	stage->loop = loop_new(NULL);
	stage->agent = sock_listen_at(stage->scratch->fd, "vsock.sock", NULL);
	listener = sock_listen_at(stage->scratch->fd, CONTROL_SOCK_NAME, NULL);
	stage->server =
		control_sock_new(stage->loop, listener, on_request, stage, &stage->log, NULL);
	stage->readiness = readiness_new(stage->loop, stage->scratch->fd, NULL);
	*state = stage;
	return stage->agent >= 0 && stage->server && stage->readiness ? 0 : -1;
}

static int stage_drop(void **state)
{
	struct stage *stage = *state;
	void *scratch = stage->scratch;

	readiness_forget(stage->readiness);
	readiness_forget(NULL);
	target_free(stage->mediation);
	readiness_free(stage->readiness);
	readiness_free(NULL);
	control_sock_free(stage->server);
	loop_free(stage->loop);
	close(stage->agent);
	free(stage);
	return scratch_remove(&scratch);
}

static void rounds(struct stage *stage)
{
	struct error err = {0};

	for (int i = 0; i < 20; i++)
		assert_ok(loop_once(stage->loop, 0, &err));
}

/* --- who asks -------------------------------------------------------------------------------- */

static int ask(struct stage *stage)
{
	static const char request[] = "{\"command\":\"readiness\"}\n";
	struct error err = {0};
	int fd = sock_connect_at(stage->scratch->fd, CONTROL_SOCK_NAME, &err);

	assert_true(fd >= 0);
	assert_ok(fd_write_all(fd, request, strlen(request), &err));
	rounds(stage);
	return fd;
}

static bool is_answered(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Returns new signals; closes fd. */
static json_t *take_answer(int fd)
{
	char text[4096] = "";
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	json_auto_t *document = n > 0 ? json_loads(text, 0, NULL) : NULL;

	close(fd);
	assert_non_null(document);
	assert_true(json_is_true(json_object_get(document, "ok")));
	return json_incref(json_object_get(document, "readiness"));
}

static bool is_ready(const json_t *signals, const char *name)
{
	const json_t *signal = json_object_get(signals, name);

	assert_true(json_is_boolean(json_object_get(signal, "ready")));
	return json_is_true(json_object_get(signal, "ready"));
}

static void assert_text(const json_t *signals, const char *name, const char *key, const char *part)
{
	const char *text = json_string_value(json_object_get(json_object_get(signals, name), key));

	if (!text || !strstr(text, part))
		fail_msg("%s.%s is %s, and lacks %s", name, key, text ? text : "nothing", part);
}

/* --- who is asked ---------------------------------------------------------------------------- */

/* Returns the agent's end of a round trip that has begun, or -1. */
static int accept_probe(struct stage *stage)
{
	int fd = accept(stage->agent, NULL, NULL);
	char text[64] = "";

	if (fd < 0)
		return -1;
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "CONNECT 2222\n");
	assert_int_equal(send(fd, "OK 1\n", 5, 0), 5);
	rounds(stage);
	return fd;
}

static void answer_probe(struct stage *stage)
{
	int fd = accept_probe(stage);
	char text[64] = "";

	assert_true(fd >= 0);
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_non_null(strchr(text, '\n'));
	assert_int_equal(send(fd, "{}\n", 3, 0), 3);
	rounds(stage);
	close(fd);
}

static void a_guest_that_is_not_ready(void **state)
{
	struct stage *stage = *state;
	json_auto_t *signals = take_answer(ask(stage));

	assert_false(is_ready(signals, "guestReady"));
	assert_false(is_ready(signals, "shellReady"));
	assert_text(signals, "shellReady", "detail", "has not reported ready");
	assert_null(json_object_get(signals, "mediationReady"));
	assert_int_equal(accept_probe(stage), -1); /* nobody asked the agent */
}

static void a_round_trip_serves_all_for_a_while(void **state)
{
	uint64_t kept = limit_get(LIMIT_PROBE_KEPT_MS) * NS_PER_MS;
	struct stage *stage = *state;
	json_t *signals;
	int first, second;

	stage->ready_at = READY_AT;
	first = ask(stage);
	second = ask(stage);
	assert_false(is_answered(first));
	answer_probe(stage);
	assert_int_equal(accept_probe(stage), -1); /* one for both */
	close(second);
	signals = take_answer(first);
	assert_true(is_ready(signals, "guestReady"));
	assert_text(signals, "guestReady", "observedAt", READY_AT);
	assert_true(is_ready(signals, "shellReady"));
	assert_text(signals, "shellReady", "detail", "agent round trip in 0 us");
	json_decref(signals);
	/* The result is reported again without asking, and after some time no longer. */
	clock_set_virtual(BEGUN + kept - 1);
	signals = take_answer(ask(stage));
	assert_true(is_ready(signals, "shellReady"));
	json_decref(signals);
	clock_set_virtual(BEGUN + kept);
	first = ask(stage);
	assert_false(is_answered(first));
	answer_probe(stage);
	json_decref(take_answer(first));
}

/* It may be ready for the next caller, so a failure is not kept. */
static void an_agent_that_hangs_up(void **state)
{
	struct stage *stage = *state;
	json_t *signals;
	int fd;

	stage->ready_at = READY_AT;
	fd = ask(stage);
	close(accept_probe(stage));
	rounds(stage);
	signals = take_answer(fd);
	assert_true(is_ready(signals, "guestReady"));
	assert_false(is_ready(signals, "shellReady"));
	assert_text(signals, "shellReady", "error",
		    "the guest's agent closed the connection without an answer");
	json_decref(signals);
	fd = ask(stage);
	answer_probe(stage);
	signals = take_answer(fd);
	assert_true(is_ready(signals, "shellReady"));
	json_decref(signals);
}

static void an_agent_that_never_answers(void **state)
{
	uint64_t most = limit_get(LIMIT_SHELL_PROBE_MS) * NS_PER_MS;
	struct stage *stage = *state;
	json_auto_t *signals = NULL;
	int fd, probe;

	stage->ready_at = READY_AT;
	fd = ask(stage);
	probe = accept_probe(stage);
	clock_set_virtual(BEGUN + most - 1);
	rounds(stage);
	assert_false(is_answered(fd));
	clock_set_virtual(BEGUN + most);
	rounds(stage);
	signals = take_answer(fd);
	assert_text(signals, "shellReady", "error",
		    "the guest's agent accepted a connection, but did not answer in time");
	close(probe);
}

/* A port on which nobody listens yet, and on which nobody else can listen meanwhile. */
static int take_port(char text[32])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(text, 32, "127.0.0.1:%u", ntohs(address.sin_port));
	return fd;
}

/* The result is kept, also a bad one: however many ask, a target is not flooded. */
static void a_mediation_target(void **state)
{
	uint64_t kept = limit_get(LIMIT_PROBE_KEPT_MS) * NS_PER_MS;
	struct stage *stage = *state;
	struct error err = {0};
	json_t *signals;
	char text[32];
	int listener = take_port(text), connection;

	stage->mediation = target_new(stage->loop, text, &err);
	assert_non_null(stage->mediation);
	signals = take_answer(ask(stage));
	assert_false(is_ready(signals, "mediationReady"));
	assert_text(signals, "mediationReady", "error", text);
	json_decref(signals);
	assert_int_equal(listen(listener, 8), 0);
	signals = take_answer(ask(stage));
	assert_false(is_ready(signals, "mediationReady"));
	json_decref(signals);
	clock_set_virtual(BEGUN + kept);
	for (int i = 0; i < 3; i++) {
		signals = take_answer(ask(stage));
		assert_true(is_ready(signals, "mediationReady"));
		assert_text(signals, "mediationReady", "detail", text);
		json_decref(signals);
	}
	/* There was one connection for the three, and no byte was sent on it. */
	connection = accept(listener, NULL, NULL);
	assert_true(connection >= 0);
	assert_int_equal(recv(connection, text, 1, MSG_DONTWAIT), 0);
	close(connection);
	assert_int_equal(accept(listener, NULL, NULL), -1);
	close(listener);
}

/* While its name is being looked up. */
static void a_target_that_is_severed(void **state)
{
	struct stage *stage = *state;
	struct error err = {0};
	json_auto_t *signals = NULL;
	char file[128], *path = strdup(getenv("PATH"));
	FILE *script;
	int fd;

	snprintf(file, sizeof(file), "%s/getent", stage->scratch->path);
	script = fopen(file, "we");
	assert_non_null(script);
	fputs("#!/bin/sh\nexec /bin/sleep 1000\n", script);
	fclose(script);
	assert_int_equal(chmod(file, 0700), 0);
	setenv("PATH", stage->scratch->path, 1);
	stage->mediation = target_new(stage->loop, "mediator:1", &err);
	stage->ready_at = READY_AT;
	fd = ask(stage);
	setenv("PATH", path, 1);
	free(path);
	assert_false(is_answered(fd));
	readiness_sever(stage->readiness);
	assert_false(is_answered(fd)); /* the agent's answer is still waited for */
	answer_probe(stage);
	signals = take_answer(fd);
	assert_true(is_ready(signals, "shellReady"));
	assert_false(is_ready(signals, "mediationReady"));
	assert_text(signals, "mediationReady", "error", "because the machine is in quarantine");
	readiness_sever(stage->readiness); /* nothing more of it */
}

/* Callers that wait get no answer any more, and running probes are given up. */
static void forgotten(void **state)
{
	struct stage *stage = *state;
	char byte;
	int fd, probe;

	stage->ready_at = READY_AT;
	fd = ask(stage);
	probe = accept_probe(stage);
	assert_true(recv(probe, &byte, 1, MSG_DONTWAIT) == 1);
	readiness_forget(stage->readiness);
	assert_int_equal(send(probe, "{}\n", 3, MSG_NOSIGNAL), -1);
	rounds(stage);
	assert_false(is_answered(fd));
	close(probe);
	close(fd);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_make, stage_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(a_guest_that_is_not_ready),
		stage_test(a_round_trip_serves_all_for_a_while),
		stage_test(an_agent_that_hangs_up),
		stage_test(an_agent_that_never_answers),
		stage_test(a_mediation_target),
		stage_test(a_target_that_is_severed),
		stage_test(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
