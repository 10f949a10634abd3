/* SPDX-License-Identifier: MIT */
/*
 * Sessions as a program of the library makes them, in milliseconds:
 *   session_bench clone BASE COUNT     a line "CLONE" for each, which stay
 *   session_bench life BASE COUNT      a line "CLONE DESTROY" for each, cloned and destroyed
 *   session_bench claim BASE COUNT     a line "CREATE FIRST-EXEC NAME" for each; they stay
 *   session_bench run NAME             a line "RUN" for each byte read: a command, over one handle
 *   session_bench end NAME...          a line "KILL DESTROY" for each: its machine, the rest
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "microagent_session.h"

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check(int status, const struct error *err)
{
	if (status == 0)
		return;
	fprintf(stderr, "session_bench: %s\n", err->msg);
	exit(1);
}

static void clone_many(struct microagent *agent, const char *base, int count, int destroy)
{
	const struct microagent_session_spec spec = {.base = base};
	struct error err = {0};

	for (int i = 0; i < count; i++) {
		struct microagent_session *session = NULL;
		double began = now_ms(), cloned;

		check(microagent_session_clone_base(agent, &spec, &session, &err), &err);
		cloned = now_ms();
		printf("%.3f", cloned - began);
		if (destroy) {
			check(microagent_session_destroy(session, &err), &err);
			printf(" %.3f", now_ms() - cloned);
		}
		printf("\n");
		microagent_session_close(session);
	}
}

static void claim_many(struct microagent *agent, const char *base, int count)
{
	static const char *const command[] = {"/bin/true", NULL};
	const struct microagent_session_spec spec = {.base = base};
	const struct microagent_exec exec = {.command = command};
	const struct microagent_run_limits limits = {.timeout_ms = 60000};
	struct error err = {0};

	for (int i = 0; i < count; i++) {
		struct microagent_session *session = NULL;
		struct microagent_result result = {0};
		double began = now_ms(), created;

		check(microagent_session_create(agent, &spec, &session, &err), &err);
		created = now_ms();
		check(microagent_session_run(session, &exec, &limits, &result, &err), &err);
		printf("%.3f %.3f %s\n", created - began, now_ms() - created,
		       microagent_session_name(session));
		microagent_result_free(&result);
		microagent_session_close(session);
	}
}

static void run_many(struct microagent *agent, const char *name)
{
	static const char *const command[] = {"/bin/true", NULL};
	const struct microagent_exec exec = {.command = command};
	struct microagent_session *session = NULL;
	struct error err = {0};

	check(microagent_session_open(agent, name, &session, &err), &err);
	while (getchar() != EOF) {
		struct microagent_result result = {0};
		double began = now_ms();

		check(microagent_session_run(session, &exec, NULL, &result, &err), &err);
		printf("%.3f\n", now_ms() - began);
		fflush(stdout);
		microagent_result_free(&result);
	}
	microagent_session_close(session);
}

static void end(struct microagent *agent, const char *name)
{
	struct microagent_session *session = NULL;
	struct microagent *sessions;
	char place[4096], id[128];
	struct error err = {0};
	double began, ended;

	snprintf(place, sizeof(place), "%s/sessions", microagent_state_dir(agent));
	snprintf(id, sizeof(id), "%s.bundle", name);
	sessions = microagent_open(place, &err);
	check(sessions ? 0 : -1, &err);
	check(microagent_session_open(agent, name, &session, &err), &err);
	began = now_ms();
	check(microagent_kill(sessions, id, NULL, &err), &err);
	ended = now_ms();
	check(microagent_session_destroy(session, &err), &err);
	printf("%.3f %.3f\n", ended - began, now_ms() - ended);
	microagent_session_close(session);
	microagent_close(sessions);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct microagent *agent = microagent_open(NULL, &err);

	check(agent ? 0 : -1, &err);
	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && strcmp(argv[1], "claim") == 0)
		claim_many(agent, argv[2], atoi(argv[3]));
	else if (argc == 3 && strcmp(argv[1], "run") == 0)
		run_many(agent, argv[2]);
	else if (argc == 4 && strcmp(argv[1], "end") != 0)
		clone_many(agent, argv[2], atoi(argv[3]), strcmp(argv[1], "life") == 0);
	for (int i = 2; argc > 2 && strcmp(argv[1], "end") == 0 && i < argc; i++)
		end(agent, argv[i]);
	microagent_close(agent);
	return 0;
}
