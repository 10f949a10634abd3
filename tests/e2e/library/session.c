/* SPDX-License-Identifier: MIT */
/* session BASE: the verbs of a session, from several threads. */
#include <microagent_session.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define RUNS 8

static struct microagent_session *session;

#define expect(condition)                                                                   \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static void *run_many(void *data)
{
	for (int i = 0; i < RUNS; i++) {
		struct microagent_result result;
		struct error err = {0};
		char line[64], want[32];

		snprintf(line, sizeof(line), "echo %d-%d; exit %d", *(int *)data, i, i);
		snprintf(want, sizeof(want), "%d-%d\n", *(int *)data, i);
		if (microagent_session_run_shell(session, line, NULL, NULL, &result, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			exit(1);
		}
		expect(result.exit_code == i);
		expect(strcmp(result.stdout_bytes, want) == 0);
		microagent_result_free(&result);
	}
	return NULL;
}

struct seen {
	size_t lines, bytes, longest, errors;
	char first[32], last[32];
};

static int see(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	struct seen *seen = data;
	size_t shown = len < sizeof(seen->last) - 1 ? len : sizeof(seen->last) - 1;

	if (stream == MICROAGENT_STDERR) {
		seen->errors++;
		return 0;
	}
	seen->lines++;
	seen->bytes += len;
	if (len > seen->longest)
		seen->longest = len;
	memset(seen->last, 0, sizeof(seen->last));
	memcpy(seen->last, bytes, shown);
	if (seen->lines == 1)
		memcpy(seen->first, seen->last, sizeof(seen->first));
	return 0;
}

static struct seen stream(const char *line, enum microagent_pieces pieces)
{
	struct seen seen = {0};
	const struct microagent_callbacks callbacks = {.output = see, .data = &seen};
	struct microagent_result result;
	struct error err = {0};

	if (microagent_session_stream_shell(session, line, NULL, pieces, &callbacks, NULL, &result,
					    &err) < 0) {
		fprintf(stderr, "%s: %s\n", line, err.msg);
		exit(1);
	}
	expect(result.exit_code == 0);
	return seen;
}

static void lines(void)
{
	struct seen seen = stream("printf 'a\\nbc\\n\\nno end'; echo e >&2", MICROAGENT_LINES);

	expect(seen.lines == 4 && seen.errors == 1);
	expect(strcmp(seen.first, "a\n") == 0 && strcmp(seen.last, "no end") == 0);
	seen = stream("seq 1 20000", MICROAGENT_LINES);
	expect(seen.lines == 20000 && strcmp(seen.last, "20000\n") == 0);
	/* Prints one line that is a bit longer than three times the longest line. */
	seen = stream("head -c 196618 /dev/zero | tr '\\0' x; echo", MICROAGENT_LINES);
	expect(seen.lines == 4 && seen.longest == MICROAGENT_LINE_MAX && seen.bytes == 196619);
	seen = stream("head -c 100000 /dev/zero", MICROAGENT_CHUNKS);
	expect(seen.bytes == 100000);
	seen = stream(":", MICROAGENT_LINES);
	expect(seen.lines == 0);
}

/* In bytes these would be too many to count, or fewer than none. */
static void refuse_sizes(struct microagent *agent)
{
	static const int64_t sizes[] = {-1, INT64_MIN, INT64_C(1) << 43, INT64_C(1) << 44};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct microagent_base_spec spec = {.size_mib = sizes[i]};
		struct error err = {0};
		json_t *base;

		expect(microagent_base_create(agent, "odd", &spec, &base, &err) < 0);
		expect(err.code == ERR_INVALID && strstr(err.msg, "the size of a disk must be"));
	}
}

int main(int argc, char **argv)
{
	const struct microagent_session_spec spec = {.base = argc > 1 ? argv[1] : NULL,
						     .machine.network = "isolated"};
	struct error err = {0};
	struct microagent *agent = microagent_open(NULL, &err);
	struct microagent_result result;
	pthread_t threads[THREADS];
	int numbers[THREADS];

	if (!agent || microagent_session_create(agent, &spec, &session, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	refuse_sizes(agent);
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		expect(pthread_create(&threads[i], NULL, run_many, &numbers[i]) == 0);
	}
	lines();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	expect(microagent_session_destroy(session, &err) == 0);
	expect(microagent_session_destroy(session, &err) == 0); /* it has gone already */
	expect(microagent_session_run_shell(session, "true", NULL, NULL, &result, &err) < 0);
	microagent_session_close(session);
	microagent_close(agent);
	puts("done");
	return 0;
}
