/* SPDX-License-Identifier: MIT */
/* calls NAME TEST: one test of the guest handle. Says "ready" and reads a line where the caller has
 * something to do to the machine; any surprise is a line on stderr and exit code 1. */
#include <microagent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITING 16
#define BIG ((size_t)3 * 1024 * 1024)

static struct microagent_guest *guest;

#define expect(condition)                                                                   \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static struct microagent_result must_run(const char *script,
					 const struct microagent_run_limits *limits)
{
	const char *const command[] = {"sh", "-c", script, NULL};
	const struct microagent_exec exec = {.command = command, .user = "root"};
	struct microagent_result result;
	struct error err = {0};

	if (microagent_guest_run(guest, &exec, limits, &result, &err) < 0) {
		fprintf(stderr, "%s: %s\n", script, err.msg);
		exit(1);
	}
	return result;
}

static int code_of(const char *script)
{
	struct microagent_result result = must_run(script, NULL);
	int code = result.exit_code;

	microagent_result_free(&result);
	return code;
}

/* Waits until the guest has as many processes. */
static void wait_for_sleepers(int count)
{
	char script[80];

	snprintf(script, sizeof(script), "[ $(ps | grep -c '[s]leep 98765') -ge %d ]", count);
	while (code_of(script) != 0)
		;
}

static bool sleepers(void)
{
	return code_of("ps | grep -q '[s]leep 98765'") == 0;
}

static void wait_for_no_sleeper(void)
{
	while (sleepers())
		;
}

static void pause_for_caller(void)
{
	char line[8];

	puts("ready");
	fflush(stdout);
	expect(fgets(line, sizeof(line), stdin));
}

/* --- a thread that waits in a call
 * ---------------------------------------------------------------- */

struct waiting {
	struct microagent_run_limits limits;
	struct microagent_result result;
	struct error err;
	int status;
	pthread_t thread;
};

static void *sleep_long(void *data)
{
	static const char *const command[] = {"sh", "-c", "sleep 98765 & exec sleep 98765", NULL};
	const struct microagent_exec exec = {.command = command, .user = "root"};
	struct waiting *w = data;

	w->status = microagent_guest_run(guest, &exec, &w->limits, &w->result, &w->err);
	return NULL;
}

static void start(struct waiting *w)
{
	expect(pthread_create(&w->thread, NULL, sleep_long, w) == 0);
}

static void test_cancel(void)
{
	struct error err;
	struct microagent_cancel *cancel = microagent_cancel_new(&err);
	/* One call has much input that nobody reads. This delays neither the cancel nor the other
	 * calls on the same connection. */
	static const char much[10 << 20];
	struct waiting waiting[2] = {
		{.limits = {.cancel = cancel}},
		{.limits = {.cancel = cancel, .stdin_bytes = much, .stdin_len = sizeof(much)}}};

	for (int i = 0; i < 2; i++)
		start(&waiting[i]);
	wait_for_sleepers(4);
	microagent_cancel_fire(cancel);
	for (int i = 0; i < 2; i++) {
		pthread_join(waiting[i].thread, NULL);
		expect(waiting[i].status == 0);
		expect(waiting[i].result.cancelled && waiting[i].result.killed);
		expect(waiting[i].result.exit_code == 137 && !waiting[i].result.timed_out);
		microagent_result_free(&waiting[i].result);
	}
	expect(!sleepers());
	microagent_cancel_free(cancel);
}

static void test_results(void)
{
	static char big[BIG];
	struct microagent_result r;
	static const char *const missing[] = {"no-such-program", NULL};
	const struct microagent_exec exec = {.command = missing};
	struct error err;

	memset(big, 'b', sizeof(big));
	r = must_run("cat", &(struct microagent_run_limits){.stdin_bytes = big, .stdin_len = BIG});
	expect(r.stdout_len == BIG && memcmp(r.stdout_bytes, big, BIG) == 0 && !r.stdout_truncated);
	microagent_result_free(&r);
	r = must_run("printf 12345; printf 123 >&2; exit 7",
		     &(struct microagent_run_limits){.stdout_cap = 3, .stderr_cap = 3});
	expect(strcmp(r.stdout_bytes, "123") == 0 && r.stdout_truncated && r.exit_code == 7);
	expect(strcmp(r.stderr_bytes, "123") == 0 && !r.stderr_truncated && !r.killed);
	microagent_result_free(&r);
	r = must_run("echo before; sleep 98765",
		     &(struct microagent_run_limits){.timeout_ms = 1500});
	expect(r.timed_out && r.killed && !r.cancelled && r.exit_code == 124);
	expect(strcmp(r.stdout_bytes, "before\n") == 0);
	microagent_result_free(&r);
	/* Input that nobody reads does not delay a timeout. */
	r = must_run("sleep 98765", &(struct microagent_run_limits){.stdin_bytes = big,
								    .stdin_len = BIG,
								    .timeout_ms = 500});
	expect(r.timed_out && r.killed && r.exit_code == 124);
	microagent_result_free(&r);
	wait_for_no_sleeper();
	expect(microagent_guest_run(guest, &exec, NULL, &r, &err) == 0);
	expect(r.exit_code == 127 && strstr(r.start_error, "not found"));
	microagent_result_free(&r);
}

/* --- streams
 * -------------------------------------------------------------------------------------- */

struct heard {
	size_t bytes[2];
	int started, most; /* calls of output() until it refuses; 0: never */
};

static void on_start(void *data)
{
	((struct heard *)data)->started++;
}

/* Takes long the first time: long enough for a command of its own in the same guest. */
static int on_output(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	struct heard *heard = data;

	if (heard->bytes[0] + heard->bytes[1] == 0)
		expect(code_of("true") == 0);
	expect(len > 0 && ((const char *)bytes)[0] == (stream == MICROAGENT_STDOUT ? 'o' : 'e'));
	heard->bytes[stream] += len;
	return heard->most > 0 && --heard->most == 0;
}

static struct microagent_result must_stream(const char *script, struct heard *heard,
					    const struct microagent_run_limits *limits)
{
	const char *const command[] = {"sh", "-c", script, NULL};
	const struct microagent_exec exec = {.command = command, .user = "root"};
	const struct microagent_callbacks callbacks = {on_output, on_start, heard};
	struct microagent_result result;
	struct error err;

	if (microagent_guest_stream(guest, &exec, &callbacks, limits, &result, &err) < 0) {
		fprintf(stderr, "%s: %s\n", script, err.msg);
		exit(1);
	}
	expect(!result.stdout_bytes && !result.stderr_bytes);
	return result;
}

static void test_stream(void)
{
	struct heard heard = {0};
	struct microagent_result r;

	r = must_stream("head -c 3145728 /dev/zero | tr '\\0' o; printf eee >&2; exit 9", &heard,
			NULL);
	expect(heard.bytes[0] == BIG && heard.bytes[1] == 3 && heard.started == 1);
	expect(r.exit_code == 9 && !r.killed);
	heard = (struct heard){.most = 2};
	r = must_stream("while :; do echo o; done", &heard, NULL);
	expect(r.cancelled && r.killed && heard.most == 0 && heard.started == 1);
	heard = (struct heard){0};
	r = must_stream("printf o; sleep 98765", &heard,
			&(struct microagent_run_limits){.timeout_ms = 1000});
	expect(r.timed_out && r.killed && heard.bytes[0] == 1);
	r = must_stream("cat", &heard,
			&(struct microagent_run_limits){.stdin_bytes = "ooo", .stdin_len = 3});
	expect(r.exit_code == 0 && heard.bytes[0] == 4);
}

/* --- files
 * ---------------------------------------------------------------------------------------- */

static const struct microagent_copy as_root = {.user = "root"};

/* Copies both ways through the present directory of the caller. */
static void test_files(void)
{
	const struct microagent_run_limits limits = {.timeout_ms = 60000};
	struct error err = {0};
	FILE *file = fopen("there", "w+");
	char text[16] = "";
	json_t *entry, *entries;

	expect(file && fputs("contents", file) >= 0 && fclose(file) == 0);
	expect(code_of("mkdir /root/d") == 0);
	expect(microagent_guest_copy_in(guest, "there", "/root/d", &as_root, &limits, &err) == 0);
	expect(microagent_guest_copy_out(guest, "/root/d/there", "back", &as_root, &limits, &err) ==
	       0);
	file = fopen("back", "r");
	expect(file && fgets(text, sizeof(text), file) && strcmp(text, "contents") == 0);
	fclose(file);
	entry = microagent_guest_stat(guest, "/root/d/there", "root", &limits, &err);
	expect(json_integer_value(json_object_get(entry, "size")) == 8);
	entries = microagent_guest_list(guest, "/root/d", "root", NULL, &err);
	expect(json_array_size(entries) == 1 && json_equal(json_array_get(entries, 0), entry));
	json_decref(entry);
	json_decref(entries);
	expect(!microagent_guest_stat(guest, "/root/absent", "root", &limits, &err));
	expect(err.code == ERR_NOT_FOUND);
	expect(!microagent_guest_list(guest, "relative", NULL, NULL, &err));
	expect(err.code == ERR_INVALID);
}

/* A copy that takes longer than allowed is cut off, and nothing of it is left. */
static void test_long_copy(void)
{
	const struct microagent_run_limits limits = {.timeout_ms = 20};
	struct error err = {0};

	expect(code_of("truncate -s 1G /root/d/big; head -c 64000000 /dev/urandom "
		       ">/root/d/random") == 0);
	expect(microagent_guest_copy_out(guest, "/root/d", "big", &as_root, &limits, &err) == -1);
	expect(err.code == ERR_TIMEOUT && access("big", F_OK) < 0);
}

/* --- what is done to the machine
 * -------------------------------------------------------------------- */

/* The caller stops the VMM. It lets the VMM go on when this program has said "ready" for the second
 * time. */
static void test_stopped(struct microagent *agent, const char *name)
{
	struct error err = {0};
	struct microagent_cancel *cancel = microagent_cancel_new(&err);
	struct waiting limited = {.limits = {.timeout_ms = 300}};
	struct waiting cancelled = {.limits = {.cancel = cancel}};

	expect(code_of("true") == 0);
	start(&cancelled);
	wait_for_sleepers(2);
	pause_for_caller();
	sleep_long(&limited);
	expect(limited.status == -1 && limited.err.code == ERR_TIMEOUT);
	expect(strstr(limited.err.msg, "the guest does not answer"));
	microagent_cancel_fire(cancel);
	pthread_join(cancelled.thread, NULL);
	expect(cancelled.status == -1 && cancelled.err.code == ERR_TIMEOUT);
	expect(strstr(cancelled.err.msg, "cancelled"));
	expect(microagent_guest_copy_in(guest, "there", "/root/d", &as_root, &limited.limits,
					&err) == -1);
	expect(err.code == ERR_TIMEOUT);
	expect(!microagent_guest_list(guest, "/", NULL, &limited.limits, &err));
	expect(err.code == ERR_TIMEOUT);
	expect(!microagent_connect(agent, name, 300, &err) && err.code == ERR_TIMEOUT);
	pause_for_caller();
	/* Calls that were given up end with their connection. */
	wait_for_no_sleeper();
	microagent_cancel_free(cancel);
}

/* The caller kills the VMM. */
static void test_broken(void)
{
	static struct waiting waiting[WAITING];
	static const char *const command[] = {"true", NULL};
	const struct microagent_exec exec = {.command = command};
	struct microagent_result result;
	struct error err;

	for (int i = 0; i < WAITING; i++)
		start(&waiting[i]);
	wait_for_sleepers(2 * WAITING);
	pause_for_caller();
	for (int i = 0; i < WAITING; i++) {
		pthread_join(waiting[i].thread, NULL);
		expect(waiting[i].status == -1 && waiting[i].err.code == ERR_UNAVAILABLE);
		expect(waiting[i].err.reason == REASON_WORKSPACE_LOST);
		expect(!strstr(waiting[i].err.msg, "microagent "));
	}
	pause_for_caller();
	expect(microagent_guest_run(guest, &exec, NULL, &result, &err) == -1);
	expect(err.code == ERR_CONFLICT);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	const char *test = argc == 3 ? argv[2] : "";
	struct microagent *agent = microagent_open(NULL, &err);

	guest = agent ? microagent_connect(agent, argv[1], 60000, &err) : NULL;
	if (!guest) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (strcmp(test, "cancel") == 0)
		test_cancel();
	else if (strcmp(test, "results") == 0)
		test_results();
	else if (strcmp(test, "stream") == 0)
		test_stream();
	else if (strcmp(test, "files") == 0)
		test_files();
	else if (strcmp(test, "long copy") == 0)
		test_long_copy();
	else if (strcmp(test, "stopped") == 0)
		test_stopped(agent, argv[1]);
	else if (strcmp(test, "broken") == 0)
		test_broken();
	else
		expect(!"a test of that name");
	microagent_guest_close(guest);
	microagent_close(agent);
	puts("done");
	return 0;
}
