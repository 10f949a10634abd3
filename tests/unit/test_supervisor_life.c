/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's commands and its live supervisor as real processes, with a stand-in for the VM.
 * This program is both: with STANDIN set it is the supervisor of the stand-in backend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "store/store.h"
#include "supervisor/supervisor.h"
#include "supervisor_standin.h"

#define HANG_NS (60 * NS_PER_S) /* nothing here takes a second; this only bounds a hang */

struct life {
	char base[64];	     /* temporary directory */
	char state[1024];    /* the state directory in it */
	const char *command; /* config.command as JSON, or NULL */
};

/* --- asking ---------------------------------------------------------------------------------- */

/* One supervisor command: its process and the end of its stdout. */
struct asked {
	struct proc proc;
	int out;
	int code;
};

static char *request_text(const struct life *life, const char *command)
{
	char *text = NULL;
	bool full = strcmp(command, "inspect") && strcmp(command, "stop") &&
		    strcmp(command, "halt") && strcmp(command, "kill") &&
		    strcmp(command, "quarantine") && strcmp(command, "delete");

	assert_true(
		asprintf(
			&text,
			"{\"command\":\"%s\",\"identity\":{\"requestID\":\"r\",\"runtimeID\":\"w\","
			"\"role\":\"workload\",\"backend\":\"qemu\"},\"config\":{\"stateDir\":\"%"
			"s\""
			"%s%s%s%s%s%s%s%s}}",
			command, life->state, full ? ",\"kernelPath\":\"" : "",
			full ? life->base : "", full ? "/kernel\",\"rootfsPath\":\"" : "",
			full ? life->base : "",
			full ? "/root\",\"memoryMiB\":64,\"cpuCount\":1,"
			       "\"network\":{\"mode\":\"isolated\"}"
			     : "",
			full && life->command ? ",\"command\":" : "",
			full && life->command ? life->command : "", "") > 0);
	return text;
}

static struct asked ask_begin(const struct life *life, const char *command, const char *option)
{
	autofree char *text = request_text(life, command);
	const char *const argv[] = {"/proc/self/exe", option, NULL};
	struct asked asked = {.proc = PROC_NONE};
	struct error err = {0};
	int ends[2], in;

	in = fd_memfd("request", text, strlen(text), &err);
	assert_true(in >= 0);
	assert_int_equal(fd_pipe(ends, &err), 0);
	const struct proc_fd fds[] = {{in, 0}, {ends[1], 1}};
	const struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds)};

	if (proc_spawn(&spec, &asked.proc, &err) < 0)
		fail_msg("%s", err.msg);
	close(in);
	close(ends[1]);
	asked.out = ends[0];
	return asked;
}

static json_t *ask_end(struct asked *asked)
{
	struct buf out = BUF_INIT(1 << 24);
	struct error err = {0};
	json_t *answer;

	assert_int_equal(fd_read_to_end(asked->out, &out, &err), 0);
	close(asked->out);
	if (proc_wait(&asked->proc, clock_mono_ns() + HANG_NS, &asked->code, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(out.len > 1 && buf_bytes(&out)[out.len - 1] == '\n');
	answer = json_load_strict(buf_bytes(&out), out.len, &err);
	if (!answer)
		fail_msg("%s: %s", err.msg, buf_string(&out));
	assert_int_equal(json_is_true(json_object_get(answer, "ok")), asked->code == 0);
	buf_free(&out);
	return answer;
}

static json_t *ask(const struct life *life, const char *command)
{
	struct asked asked = ask_begin(life, command, NULL);

	return ask_end(&asked);
}

static const char *text_in(const json_t *answer, const char *block, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(answer, block), key));

	return text ? text : "";
}

static void expect(const struct life *life, const char *command, const char *state)
{
	json_auto_t *answer = ask(life, command);
	autofree char *text = json_line(answer, NULL);

	if (!json_is_true(json_object_get(answer, "ok")) ||
	    strcmp(text_in(answer, "event", "state"), state) != 0)
		fail_msg("%s should have answered %s: %s", command, state, text);
}

static void refused(const struct life *life, const char *command, const char *code)
{
	json_auto_t *answer = ask(life, command);
	autofree char *text = json_line(answer, NULL);

	if (strcmp(json_string_value(json_object_get(answer, "errorCode")), code) != 0)
		fail_msg("%s should have been refused as %s: %s", command, code, text);
}

/* --- looking --------------------------------------------------------------------------------- */

static bool exists(const struct life *life, const char *name)
{
	char path[2048];
	struct stat st;

	snprintf(path, sizeof(path), "%s/w/%s", life->state, name);
	return lstat(path, &st) == 0;
}

static json_t *file(const struct life *life, const char *name)
{
	struct state_dir dir;
	struct workspace ws;
	struct error err = {0};
	json_t *value;

	assert_int_equal(state_dir_open(life->state, false, &dir, &err), 0);
	assert_int_equal(workspace_open(&dir, "w", false, &ws, &err), 0);
	value = workspace_read(&ws, name, &err);
	workspace_close(&ws);
	state_dir_close(&dir);
	if (!value)
		fail_msg("%s", err.msg);
	return value;
}

static void wait_for_end(const struct life *life)
{
	struct state_dir dir;
	struct workspace ws;
	struct error err = {0};

	assert_int_equal(state_dir_open(life->state, false, &dir, &err), 0);
	assert_int_equal(workspace_open(&dir, "w", false, &ws, &err), 0);
	if (lease_wait_free(&ws, clock_mono_ns() + HANG_NS, &err) < 0)
		fail_msg("%s", err.msg);
	workspace_close(&ws);
	state_dir_close(&dir);
}

static int watch_directory(const struct life *life)
{
	char path[2048];
	int fd = inotify_init1(IN_CLOEXEC);

	snprintf(path, sizeof(path), "%s/w", life->state);
	assert_true(fd >= 0 && inotify_add_watch(fd, path, IN_CREATE) >= 0);
	return fd;
}

/* The watch was set before it could come. */
static void wait_for_file(const struct life *life, int watch, const char *name)
{
	char events[4096];
	struct error err = {0};

	while (!exists(life, name)) {
		if (fd_wait(watch, POLLIN, clock_mono_ns() + HANG_NS, &err) < 0)
			fail_msg("%s: %s", name, err.msg);
		assert_true(read(watch, events, sizeof(events)) > 0);
	}
	close(watch);
}

static pid_t pid_in_runtime(const struct life *life, const char *key)
{
	json_auto_t *runtime = file(life, "runtime.json");

	return (pid_t)json_integer_value(json_object_get(runtime, key));
}

static void expect_states(const struct life *life, const char *states)
{
	json_auto_t *events = file(life, "events.json");
	char list[1024] = "";
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		strcat(list, json_string_value(json_object_get(event, "state")));
		strcat(list, " ");
	}
	assert_string_equal(list, states);
}

static void expect_nothing_left(const struct life *life)
{
	assert_false(exists(life, "vsock.sock"));
	assert_false(exists(life, "vsock.sock_1024"));
	assert_false(exists(life, "control.sock"));
	assert_false(exists(life, "reserve"));
}

/* --- the fixture ----------------------------------------------------------------------------- */

static void put(const char *dir, const char *name, const void *data, size_t len, mode_t mode)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* A kernel, its initrd, something with the superblock of a 64 KiB ext4, and a hasher. */
static int life_make(void **state)
{
	static const char hasher[] = "#!/bin/sh\nexec sha256sum <&3\n";
	struct life *life = calloc(1, sizeof(*life));
	uint8_t root[65536] = {0};
	char path[1024];

	snprintf(life->base, sizeof(life->base), "/tmp/microagent-life-XXXXXX");
	if (!mkdtemp(life->base))
		return -1;
	snprintf(life->state, sizeof(life->state), "%s/state", life->base);
	root[1024 + 4] = 64;
	root[1024 + 56] = 0x53;
	root[1024 + 57] = 0xEF;
	put(life->base, "kernel", "kernel", 6, 0600);
	put(life->base, "kernel.initrd", "initrd", 6, 0600);
	put(life->base, "root", root, sizeof(root), 0600);
	put(life->base, "microagent-artifact", hasher, strlen(hasher), 0700);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", life->base);
	setenv("PATH", path, 1);
	snprintf(path, sizeof(path), "%s/cache", life->base);
	setenv("MICROAGENT_CACHE_DIR", path, 1);
	setenv("STANDIN", "1", 1);
	unsetenv("STANDIN_NO_BOOT");
	limit_reset(LIMIT_BOOT_TCG_MS);
	limit_reset(LIMIT_HALT_MS);
	*state = life;
	return 0;
}

/* What a sanitizer has to say of the live supervisor is in its log. */
static bool log_is_clean(const struct life *life)
{
	char path[2048], line[1024];
	bool clean = true;
	FILE *log;

	snprintf(path, sizeof(path), "%s/w/supervisor.log", life->state);
	log = fopen(path, "r");
	while (log && fgets(line, sizeof(line), log)) {
		if (!strstr(line, "Sanitizer") && !strstr(line, "runtime error"))
			continue;
		fputs(line, stderr);
		clean = false;
	}
	if (log)
		fclose(log);
	return clean;
}

static int life_drop(void **state)
{
	struct life *life = *state;
	int status = log_is_clean(life) ? 0 : -1;

	status |= path_remove_tree_at(AT_FDCWD, life->base, NULL);

	free(life);
	return status;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void whole_life(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "check", "unknown");
	expect(life, "inspect", "unknown");
	refused(life, "start", "conflict");
	refused(life, "stop", "not-found");
	expect(life, "delete", "stopped");
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	refused(life, "start", "conflict");
	refused(life, "prepare", "conflict");
	refused(life, "delete", "conflict");
	refused(life, "console", "unsupported");
	answer = ask(life, "inspect");
	assert_true(json_is_true(json_object_get(
		json_object_get(json_object_get(answer, "readiness"), "shellReady"), "ready")));
	assert_true(json_is_true(json_object_get(
		json_object_get(json_object_get(answer, "readiness"), "guestReady"), "ready")));
	expect(life, "halt", "halted");
	expect_nothing_left(life);
	expect(life, "start", "running");
	expect(life, "stop", "stopped");
	expect(life, "start", "running");
	expect(life, "kill", "stopped");
	expect(life, "halt", "halted");
	expect_states(life, "prepared starting running stopping halted starting running stopping "
			    "stopped starting running stopped halted ");
	expect(life, "delete", "stopped");
	expect(life, "inspect", "unknown");
}

static void run_answers_with_the_result(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	json_auto_t *again = NULL;

	life->command = "[\"exit\",\"7\"]";
	answer = ask(life, "run"); /* prepares first */
	assert_true(json_is_true(json_object_get(answer, "ok")));
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_string_equal(text_in(answer, "result", "stdout"), "hello\n");
	assert_string_equal(text_in(answer, "result", "stderrBase64"), "/w==");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(answer, "result"), "exitCode")),
		7);
	expect_states(life, "prepared starting running failed ");
	expect_nothing_left(life);
	again = ask(life, "inspect");
	assert_true(
		json_equal(json_object_get(answer, "result"), json_object_get(again, "result")));
	expect(life, "prepare", "prepared");
	assert_false(exists(life, "result.json"));
}

static void run_with_remove_leaves_nothing(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	struct asked asked;

	life->command = "[\"exit\",\"0\"]";
	asked = ask_begin(life, "run", "--remove");
	answer = ask_end(&asked);
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	assert_string_equal(text_in(answer, "result", "stdout"), "hello\n");
	assert_false(exists(life, "."));
}

static void a_dead_caller_ends_the_vm(void **state)
{
	struct life *life = *state;
	struct asked asked;
	struct error err;
	int code, watch;

	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	asked = ask_begin(life, "run", NULL);
	wait_for_file(life, watch, "vsock.sock");
	assert_int_equal(proc_signal(&asked.proc, SIGKILL, &err), 0);
	assert_int_equal(proc_wait(&asked.proc, UINT64_MAX, &code, &err), 0);
	close(asked.out);
	wait_for_end(life);
	expect(life, "inspect", "stopped");
	expect_nothing_left(life);
}

static bool is_shell_ready(const json_t *answer)
{
	const json_t *readiness = json_object_get(answer, "readiness");

	return json_is_true(json_object_get(json_object_get(readiness, "shellReady"), "ready"));
}

/* A shell that answered once is not asked again soon; one that did not is, by whoever comes next.
 */
static void a_shell_that_is_late_is_not_held_against_it(void **state)
{
	struct life *life = *state;
	json_auto_t *first = NULL, *second = NULL, *third = NULL;

	limit_set(LIMIT_PROBE_KEPT_MS, 600000);
	life->command = "[\"coy\"]";
	expect(life, "prepare", "prepared");
	first = ask(life, "start");
	limit_reset(LIMIT_PROBE_KEPT_MS);
	assert_string_equal(text_in(first, "event", "state"), "running");
	assert_false(is_shell_ready(first));
	second = ask(life, "inspect");
	assert_true(is_shell_ready(second));
	third = ask(life, "inspect");
	assert_true(json_equal(json_object_get(second, "readiness"),
			       json_object_get(third, "readiness")));
	expect(life, "kill", "stopped");
}

static void ended(struct life *life, const char *command, const char *state, const char *word)
{
	json_auto_t *answer = NULL;
	autofree char *text = NULL;

	life->command = command;
	expect(life, "prepare", "prepared");
	answer = ask(life, "run");
	text = json_line(answer, NULL);
	if (strcmp(text_in(answer, "event", "state"), state) != 0 ||
	    !strstr(text_in(answer, "event", "detail"), word))
		fail_msg("%s should have ended as %s (%s): %s", command, state, word, text);
	expect_nothing_left(life);
}

static void guests_that_end_in_their_own_way(void **state)
{
	struct life *life = *state;

	limit_set(LIMIT_AGENT_LOST_MS, 20);
	ended(life, "[\"exit\",\"0\"]", "stopped", "exit code 0");
	ended(life, "[\"panic\"]", "failed", "panicked");
	ended(life, "[\"garbage\"]", "failed", "broke the control protocol");
	ended(life, "[\"twice\"]", "failed", "broke the control protocol");
	ended(life, "[\"lost\"]", "failed", "agent is lost");
	ended(life, "[\"off\"]", "failed", "switched itself off");
	limit_reset(LIMIT_AGENT_LOST_MS);
}

static void the_boot_deadline(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	life->command = "[\"mute\"]";
	limit_set(LIMIT_BOOT_TCG_MS, 50);
	expect(life, "prepare", "prepared");
	answer = ask(life, "start");
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "timeout");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_non_null(strstr(json_string_value(json_object_get(answer, "error")),
			       "serial.log ends: standin: booting"));
	expect(life, "inspect", "failed");
}

static void a_guest_that_does_not_switch_itself_off(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	life->command = "[\"deaf\"]";
	limit_set(LIMIT_HALT_MS, 50);
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	answer = ask(life, "halt");
	assert_string_equal(text_in(answer, "event", "state"), "halted");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "unclean"));
}

static void kill_ends_a_start_that_hangs(void **state)
{
	struct life *life = *state;
	struct asked starting;
	json_auto_t *answer = NULL;
	int watch;

	life->command = "[\"mute\"]";
	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	starting = ask_begin(life, "start", NULL);
	wait_for_file(life, watch, "control.sock");
	expect(life, "kill", "stopped");
	answer = ask_end(&starting);
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "conflict");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
}

static void kill_9_of_the_live_supervisor(void **state)
{
	struct life *life = *state;
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
	wait_for_end(life); /* the guest holds the lease too */
	expect(life, "inspect", "failed");
	expect_nothing_left(life);
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "pid"), SIGKILL), 0);
	wait_for_end(life);
	expect(life, "inspect", "failed");
	expect_states(life, "prepared starting running failed starting running failed ");
}

/* The waiting run does what its live supervisor cannot do any more. */
static void kill_9_during_a_run(void **state)
{
	static const char *const options[] = {NULL, "--remove"};
	struct life *life = *state;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct asked asked;
		json_auto_t *answer = NULL;
		int watch;

		expect(life, "prepare", "prepared");
		watch = watch_directory(life);
		asked = ask_begin(life, "run", options[i]);
		wait_for_file(life, watch, "vsock.sock");
		assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
		answer = ask_end(&asked);
		assert_string_equal(json_string_value(json_object_get(answer, "error")),
				    "the live supervisor died");
		assert_string_equal(text_in(answer, "event", "state"), "failed");
		assert_int_equal(exists(life, "."), options[i] == NULL);
	}
}

/* What cannot be proven to be cut off does not go on, and the record says so. */
static void a_quarantine_that_fails_kills(void **state)
{
	static const struct {
		const char *how, *code, *word;
	} rows[] = {{"unproven", "denied", "the listing was refused"},
		    {"refused", "io", "the companions cannot be found"},
		    {"stuck", "timeout", "quarantine failed"}};
	struct life *life = *state;

	life->command = "[\"deaf\"]"; /* goes on without its control stream, as a guest does */
	expect(life, "prepare", "prepared");
	limit_set(LIMIT_CONTROL_REQUEST_MS, 300);
	limit_set(LIMIT_SEVER_MS, 300);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *answer = NULL;

		setenv("STANDIN_SEVER", rows[i].how, 1);
		expect(life, "start", "running");
		answer = ask(life, "quarantine");
		assert_string_equal(json_string_value(json_object_get(answer, "errorCode")),
				    rows[i].code);
		assert_non_null(
			strstr(json_string_value(json_object_get(answer, "error")), rows[i].word));
		assert_string_equal(text_in(answer, "event", "state"), "failed");
		expect(life, "inspect", "failed");
		expect_nothing_left(life);
	}
	unsetenv("STANDIN_SEVER");
	limit_reset(LIMIT_SEVER_MS);
	limit_reset(LIMIT_CONTROL_REQUEST_MS);
}

/* A foreground run ends with it, the machine and its directory stay, whatever run was told. */
static void a_run_that_is_quarantined(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	struct asked asked;
	int watch;

	life->command = "[\"deaf\"]"; /* goes on without its control stream, as a guest does */
	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	asked = ask_begin(life, "run", "--remove");
	wait_for_file(life, watch, "vsock.sock");
	for (;;) {
		json_auto_t *said = ask(life, "quarantine");

		if (json_is_true(json_object_get(said, "ok")))
			break; /* until then it was starting */
	}
	answer = ask_end(&asked);
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "conflict");
	assert_string_equal(text_in(answer, "event", "state"), "quarantined");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGTERM), 0);
	wait_for_end(life);
	expect(life, "inspect", "quarantined");
	expect_nothing_left(life);
	refused(life, "start", "conflict");
	expect(life, "kill", "stopped");
}

static void sigterm_to_the_live_supervisor(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGTERM), 0);
	wait_for_end(life);
	answer = ask(life, "inspect");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "told to end"));
	expect_nothing_left(life);
}

static void a_live_supervisor_that_does_not_answer_is_killed(void **state)
{
	struct life *life = *state;

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGSTOP), 0);
	limit_set(LIMIT_CONTROL_REQUEST_MS, 50);
	limit_set(LIMIT_ENDING_MS, 50);
	expect(life, "stop", "stopped");
	limit_reset(LIMIT_CONTROL_REQUEST_MS);
	limit_reset(LIMIT_ENDING_MS);
	wait_for_end(life);
	expect_nothing_left(life);
}

static void a_reboot_of_the_host(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	autofree char *text = NULL;
	json_auto_t *runtime = NULL;
	char dir[2048];

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
	wait_for_end(life);
	runtime = file(life, "runtime.json");
	json_object_set_new(runtime, "bootId", json_string("00000000-0000-4000-8000-000000000000"));
	text = json_line(runtime, NULL);
	snprintf(dir, sizeof(dir), "%s/w", life->state);
	put(dir, "runtime.json", text, strlen(text), 0600);
	answer = ask(life, "inspect");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "rebooted"));
	expect_nothing_left(life);
}

static void a_backend_that_cannot_boot(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	setenv("STANDIN_NO_BOOT", "1", 1);
	expect(life, "prepare", "prepared");
	answer = ask(life, "start");
	assert_string_equal(json_string_value(json_object_get(answer, "error")),
			    "the standin does not boot");
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "unavailable");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	expect_nothing_left(life);
}

static void a_changed_kernel_is_refused(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "prepare", "prepared");
	put(life->base, "kernel", "nernel", 6, 0600);
	answer = ask(life, "inspect");
	assert_true(json_is_false(json_object_get(json_object_get(answer, "verification"), "ok")));
	refused(life, "start", "conflict");
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	expect(life, "kill", "stopped");
}

static void a_long_state_directory(void **state)
{
	struct life *life = *state;

	for (int i = 0; i < 5; i++) {
		strcat(life->state, "/");
		for (int n = 0; n < 60; n++)
			strcat(life->state, "d");
	}
	life->command = "[\"exit\",\"0\"]";
	expect(life, "run", "stopped");
}

static void fifty_at_once(void **state)
{
	struct life *life = *state;
	static const char *const commands[] = {"start", "stop", "inspect", "kill", "halt"};
	struct asked asked[50];

	expect(life, "prepare", "prepared");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		asked[i] = ask_begin(life, commands[i % ARRAY_SIZE(commands)], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		json_decref(ask_end(&asked[i]));
	expect(life, "kill", "stopped");
	expect_nothing_left(life);
	expect(life, "start", "running");
	expect(life, "stop", "stopped");
}

#define life_test(fn) cmocka_unit_test_setup_teardown(fn, life_make, life_drop)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		life_test(whole_life),
		life_test(run_answers_with_the_result),
		life_test(run_with_remove_leaves_nothing),
		life_test(a_dead_caller_ends_the_vm),
		life_test(a_shell_that_is_late_is_not_held_against_it),
		life_test(guests_that_end_in_their_own_way),
		life_test(the_boot_deadline),
		life_test(a_guest_that_does_not_switch_itself_off),
		life_test(kill_ends_a_start_that_hangs),
		life_test(kill_9_of_the_live_supervisor),
		life_test(kill_9_during_a_run),
		life_test(a_quarantine_that_fails_kills),
		life_test(a_run_that_is_quarantined),
		life_test(sigterm_to_the_live_supervisor),
		life_test(a_live_supervisor_that_does_not_answer_is_killed),
		life_test(a_reboot_of_the_host),
		life_test(a_backend_that_cannot_boot),
		life_test(a_changed_kernel_is_refused),
		life_test(a_long_state_directory),
		life_test(fifty_at_once),
	};

	if (getenv("STANDIN"))
		return supervisor_main(&standin_backend, argc, argv);
	return cmocka_run_group_tests_name("supervisor life", tests, NULL, NULL);
}
