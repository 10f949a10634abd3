/* SPDX-License-Identifier: MIT */
/* threads NAME THREADS RUNS CONNECT_MS: runs commands in THREADS threads over one handle. Each
 * thread has words of its own, and checks that it gets its own output back. */
#include <microagent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct microagent_guest *guest;
	int number, runs, failed;
	char text[512];
};

static int run_once(struct job *job, int run)
{
	char out[64], err[64], code[8];
	const char *const command[] = {
		"sh", "-c", "read -r in; echo \"$in$1\"; echo \"$2\" >&2; exit $3", "sh", out, err,
		code, NULL};
	const struct microagent_exec exec = {.command = command, .user = "root"};
	char in[64], expected[160];
	const struct microagent_run_limits limits = {.stdin_bytes = in, .stdin_len = sizeof(in)};
	struct microagent_result result = {0};
	struct error error = {0};
	int wrong;

	memset(in, 'a' + job->number % 26, sizeof(in) - 1);
	in[sizeof(in) - 1] = '\n';
	snprintf(out, sizeof(out), "out of %d in %d", job->number, run);
	snprintf(err, sizeof(err), "err of %d in %d", job->number, run);
	snprintf(code, sizeof(code), "%d", (job->number + run) % 100);
	if (microagent_guest_run(job->guest, &exec, &limits, &result, &error) < 0) {
		snprintf(job->text, sizeof(job->text), "%.500s", error.msg);
		return -1;
	}
	snprintf(expected, sizeof(expected), "%.63s%s\n", in, out);
	wrong = strcmp(result.stdout_bytes, expected) != 0 ||
		strncmp(result.stderr_bytes, err, strlen(err)) != 0 ||
		result.exit_code != (job->number + run) % 100 || result.killed || result.timed_out;
	if (wrong)
		snprintf(job->text, sizeof(job->text), "exit %d, %.100s, %.100s, %.100s",
			 result.exit_code, result.stdout_bytes, result.stderr_bytes,
			 result.start_error);
	microagent_result_free(&result);
	return wrong ? -1 : 0;
}

static void *work(void *data)
{
	struct job *job = data;

	for (int run = 0; run < job->runs && !job->failed; run++)
		job->failed = run_once(job, run) < 0;
	return NULL;
}

int main(int argc, char **argv)
{
	struct error error = {0};
	struct microagent *agent = argc == 5 ? microagent_open(NULL, &error) : NULL;
	struct microagent_guest *guest =
		agent ? microagent_connect(agent, argv[1], (uint32_t)atoi(argv[4]), &error) : NULL;
	int threads = argc == 5 ? atoi(argv[2]) : 0, failed = 0;
	struct job *jobs = calloc((size_t)threads + 1, sizeof(*jobs));
	pthread_t *ids = calloc((size_t)threads + 1, sizeof(*ids));

	microagent_close(agent);
	if (!guest || !jobs || !ids) {
		fprintf(stderr, "%s\n", error.msg);
		return 1;
	}
	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){.guest = guest, .number = i, .runs = atoi(argv[3])};
		if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0)
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		failed += jobs[i].failed;
		if (jobs[i].failed)
			fprintf(stderr, "thread %d: %s\n", i, jobs[i].text);
	}
	microagent_guest_close(guest);
	free(jobs);
	free(ids);
	printf("%d of %d threads failed\n", failed, threads);
	return failed != 0;
}
