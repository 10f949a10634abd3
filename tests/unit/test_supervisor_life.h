/* SPDX-License-Identifier: MIT */
/* Things that the tests of whole workspaces share: a supervisor with a backend of the test,
 * requests as a program sends them, and checks of what it leaves. */
#ifndef TEST_SUPERVISOR_LIFE_H
#define TEST_SUPERVISOR_LIFE_H

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

/* Sets a limit of this process and of the live supervisor, which is a program that reads its
 * environment. */
#define life_limit(name, value)                                    \
	do {                                                       \
		limit_set(LIMIT_##name, value);                    \
		setenv("MICROAGENT_TEST_LIMIT_" #name, #value, 1); \
	} while (0)
#define life_limit_over(name)                             \
	do {                                              \
		limit_reset(LIMIT_##name);                \
		unsetenv("MICROAGENT_TEST_LIMIT_" #name); \
	} while (0)

#define HANG_NS (60 * NS_PER_S) /* nothing here takes a second; this only bounds a hang */

/* The first bytes that make a file a kernel of this host: the header of an ELF image. */
#ifdef __x86_64__
#define ELF_MACHINE 62
#else
#define ELF_MACHINE 183
#endif
static const char elf_kernel[65] = {
	0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = (char)ELF_MACHINE};

struct life {
	char base[64];	     /* temporary directory */
	char state[1024];    /* the state directory in it */
	const char *command; /* config.command as JSON, or NULL */
};

/* One supervisor command: its process and the end of its stdout. */
struct asked {
	struct proc proc;
	int out;
	int code;
};

static inline char *request_text(const struct life *life, const char *command)
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

static inline struct asked ask_begin(const struct life *life, const char *command,
				     const char *option)
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

static inline json_t *ask_end(struct asked *asked)
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

static inline json_t *ask(const struct life *life, const char *command)
{
	struct asked asked = ask_begin(life, command, NULL);

	return ask_end(&asked);
}

static const char *text_in(const json_t *answer, const char *block, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(answer, block), key));

	return text ? text : "";
}

static inline void expect(const struct life *life, const char *command, const char *state)
{
	json_auto_t *answer = ask(life, command);
	autofree char *text = json_line(answer, NULL);

	if (!json_is_true(json_object_get(answer, "ok")) ||
	    strcmp(text_in(answer, "event", "state"), state) != 0)
		fail_msg("%s should have answered %s: %s", command, state, text);
}

static inline void refused(const struct life *life, const char *command, const char *code)
{
	json_auto_t *answer = ask(life, command);
	autofree char *text = json_line(answer, NULL);

	if (strcmp(json_string_value(json_object_get(answer, "errorCode")), code) != 0)
		fail_msg("%s should have been refused as %s: %s", command, code, text);
}

static inline bool exists(const struct life *life, const char *name)
{
	char path[2048];
	struct stat st;

	snprintf(path, sizeof(path), "%s/w/%s", life->state, name);
	return lstat(path, &st) == 0;
}

static inline json_t *file(const struct life *life, const char *name)
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

static inline void wait_for_end(const struct life *life)
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

static inline int watch_directory(const struct life *life)
{
	char path[2048];
	int fd = inotify_init1(IN_CLOEXEC);

	snprintf(path, sizeof(path), "%s/w", life->state);
	assert_true(fd >= 0 && inotify_add_watch(fd, path, IN_CREATE) >= 0);
	return fd;
}

/* The watch was set before the event could come. */
static inline void wait_for_file(const struct life *life, int watch, const char *name)
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

static inline void expect_states(const struct life *life, const char *states)
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

static inline void expect_nothing_left(const struct life *life)
{
	assert_false(exists(life, "vsock.sock"));
	assert_false(exists(life, "vsock.sock_1024"));
	assert_false(exists(life, "control.sock"));
	assert_false(exists(life, "reserve"));
}

static inline void put(const char *dir, const char *name, const void *data, size_t len, mode_t mode)
{
	char path[2304];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* A kernel, its initrd, a file with the superblock of a 64 KiB ext4, and a hasher. */
static inline int life_make(void **state)
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
	put(life->base, "kernel", elf_kernel, sizeof(elf_kernel), 0600);
	put(life->base, "kernel.initrd", "initrd", 6, 0600);
	put(life->base, "root", root, sizeof(root), 0600);
	put(life->base, "microagent-artifact", hasher, strlen(hasher), 0700);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", life->base);
	setenv("PATH", path, 1);
	snprintf(path, sizeof(path), "%s/cache", life->base);
	setenv("MICROAGENT_CACHE_DIR", path, 1);
	setenv("STANDIN", "1", 1);
	unsetenv("STANDIN_NO_BOOT");
	unsetenv("STANDIN_KVM");
	life_limit_over(BOOT_TCG_MS);
	life_limit_over(BOOT_KVM_MS);
	life_limit_over(FIRMWARE_MS);
	life_limit_over(HALT_MS);
	*state = life;
	return 0;
}

/* A sanitizer's report about the live supervisor is in its log. */
static inline bool log_is_clean(const struct life *life)
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

static inline int life_drop(void **state)
{
	struct life *life = *state;
	int status = log_is_clean(life) ? 0 : -1;

	status |= path_remove_tree_at(AT_FDCWD, life->base, NULL);

	free(life);
	return status;
}

#define life_test(fn) cmocka_unit_test_setup_teardown(fn, life_make, life_drop)

#endif
