/* SPDX-License-Identifier: MIT */
/*
 * A backend without a VM, so that the supervisor's commands and the live supervisor run whole, as
 * processes, in milliseconds: its "guest" is a child that holds the lease, dials the control
 * stream, and does what config.command says:
 *
 *   (none)     is ready and waits for power
 *   exit N     is ready, reports a result with exit code N, waits for power
 *   mute       never says anything but on the serial console
 *   firmware   never says anything
 *   late       the same as mute, but is in the firmware for a fifth of a second before
 *   panic      is ready, then resets
 *   garbage    is ready, then breaks the protocol
 *   twice      reports its result twice
 *   deaf       is ready and does not switch itself off
 *   lost       is ready, ends its control stream and goes on
 *   off        is ready and switches itself off
 */
#ifndef SUPERVISOR_STANDIN_H
#define SUPERVISOR_STANDIN_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"

#define GUEST_RESET 10 /* exit code of a guest that panics */

struct vm {
	struct vm_events events;
	struct proc guest;
	struct loop *loop;
	struct loop_watch *serial_watch, *sever_timer;
	int serial, power_button;
	bool killed;
};

/* --- the guest ------------------------------------------------------------------------------- */

static void guest_say(int fd, const char *text)
{
	struct buf out = {0};
	struct error err;

	if (frame_append(&out, text, strlen(text), &err) < 0 ||
	    fd_write_all(fd, buf_bytes(&out), out.len, &err) < 0)
		_exit(77);
	buf_free(&out);
}

/* Waits for a message of that type. */
static void guest_await(int fd, const char *type)
{
	char header[FRAME_HEADER], text[65536];
	struct error err;

	for (;;) {
		uint32_t len;

		if (fd_read_exact(fd, header, sizeof(header), &err) < 0)
			_exit(78);
		len = be32_get((const uint8_t *)header);
		if (len >= sizeof(text) || fd_read_exact(fd, text, len, &err) < 0)
			_exit(79);
		text[len] = '\0';
		if (strstr(text, "\"quiesce\""))
			guest_say(fd, "{\"type\":\"quiesced\",\"format\":1}");
		if (strstr(text, type))
			return;
	}
}

static void guest_result(int fd, int code)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"type\":\"result\",\"format\":1,\"startedAt\":\"2026-05-02T00:00:00Z\","
		 "\"completedAt\":\"2026-05-02T00:00:01Z\",\"exitCode\":%d,"
		 "\"stdout\":\"aGVsbG8K\",\"stderr\":\"/w==\",\"stderrTruncated\":true}",
		 code);
	guest_say(fd, text);
}

static bool guest_is_coy; /* closes the first connection without a word */

/* A command in streaming mode ends with 0 at once. Returns false if it is something else. */
static bool guest_ran(int fd, const char *bytes, size_t len)
{
	const char *rest = memchr(bytes, '\n', len);
	json_auto_t *request = NULL;
	long long number;
	char text[256];

	if (strncmp(bytes, "CONNECT ", 8) == 0 && rest) {
		len -= (size_t)(rest + 1 - bytes);
		bytes = rest + 1;
	}
	if (len <= FRAME_HEADER || bytes[0] != '\0')
		return false;
	request = json_loadb(bytes + FRAME_HEADER, len - FRAME_HEADER, 0, NULL);
	number = json_integer_value(json_object_get(request, "request"));
	snprintf(text, sizeof(text),
		 "{\"event\":\"start\",\"request\":%lld,\"id\":\"%lld\",\"pid\":9}", number,
		 number);
	guest_say(fd, text);
	snprintf(text, sizeof(text),
		 "{\"event\":\"exit\",\"request\":%lld,\"id\":\"%lld\",\"exitCode\":0,"
		 "\"killed\":false,\"elapsedMs\":0}",
		 number, number);
	guest_say(fd, text);
	return true;
}

/* Serves one host connection at a time: CONNECT, OK, and an agent that knows no operation. */
static void *guest_serve(void *data)
{
	int listener = *(int *)data, fd;
	char line[4096];
	struct error err;

	fd_nonblock(listener, false, &err);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (guest_is_coy) {
			guest_is_coy = false;
			close(fd);
			continue;
		}
		ssize_t n = read(fd, line, sizeof(line));

		if (n > 0)
			(void)!write(fd, "OK 1\n", 5);
		/* The request may have come with the line. */
		if (n > 0 && memchr(line, '\n', (size_t)n) == line + n - 1)
			n = read(fd, line, sizeof(line));
		if (n > 0 && !guest_ran(fd, line, (size_t)n))
			(void)!write(fd, "{\"error\":\"unknown op: ping\"}\n", 29);
		close(fd);
	}
	return NULL;
}

static void guest_act(int fd, const json_t *command)
{
	const char *word = json_string_value(json_array_get(command, 0));
	const char *number = json_string_value(json_array_get(command, 1));

	if (!word || !strcmp(word, "deaf"))
		return;
	if (!strcmp(word, "panic"))
		_exit(GUEST_RESET);
	if (!strcmp(word, "off"))
		_exit(0);
	if (!strcmp(word, "garbage"))
		guest_say(fd, "{\"type\":\"result\",\"exitCode\":\"seven\"}");
	if (!strcmp(word, "exit"))
		guest_result(fd, number ? atoi(number) : 0);
	if (!strcmp(word, "twice")) {
		guest_result(fd, 0);
		guest_result(fd, 0);
	}
	if (!strcmp(word, "lost"))
		shutdown(fd, SHUT_RDWR);
}

static bool is_word(const json_t *command, const char *word)
{
	const char *first = json_string_value(json_array_get(command, 0));

	return first && !strcmp(first, word);
}

static void guest_run(int workspace_fd, int listener, const json_t *command)
{
	const char *word = json_string_value(json_array_get(command, 0));
	struct error err;
	pthread_t agent;
	int fd;

	if (is_word(command, "mute") || is_word(command, "late") || is_word(command, "firmware"))
		for (;;)
			pause();
	fd = sock_connect_at(workspace_fd, "vsock.sock_1024", &err);
	if (fd < 0)
		_exit(76);
	guest_say(fd, "{\"type\":\"hello\",\"format\":1,\"protocol\":{\"min\":1,\"max\":1},"
		      "\"version\":\"0.1.0\",\"bootId\":\"b\",\"generation\":0}");
	guest_await(fd, "\"config\"");
	guest_is_coy = word && !strcmp(word, "coy");
	guest_say(fd, "{\"type\":\"ready\",\"format\":1}");
	if (pthread_create(&agent, NULL, guest_serve, &listener) != 0)
		_exit(75);
	guest_act(fd, command);
	if (word && (!strcmp(word, "deaf") || !strcmp(word, "lost")))
		for (;;)
			pause();
	guest_await(fd, "\"power\"");
	_exit(0);
}

/* --- the backend ----------------------------------------------------------------------------- */

static int standin_host(struct backend_host *out, struct error *err)
{
	(void)err;
	*out = (struct backend_host){.architecture = "amd64",
				     .accelerator = ACCELERATOR_TCG,
				     .accelerator_reason = "there is no machine",
				     .confinement = "none"};
	return 0;
}

static void standin_host_free(struct backend_host *host)
{
	(void)host;
}

static int standin_check(const struct config *config, struct error *err)
{
	if (config->network_mode != NETWORK_ISOLATED)
		return error_set(err, ERR_UNSUPPORTED, "config.network.mode must be isolated");
	return 0;
}

static int standin_accelerator(const struct config *config, enum accelerator *out, char reason[256],
			       struct error *err)
{
	if (config->accelerator == ACCELERATOR_KVM)
		return error_set(err, ERR_UNAVAILABLE, "no KVM here");
	snprintf(reason, 256, "there is no machine");
	*out = getenv("STANDIN_KVM") ? ACCELERATOR_KVM : ACCELERATOR_TCG;
	return 0;
}

static void standin_serial(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	uint8_t bytes[4096];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	(void)loop;
	(void)events;
	if (n > 0) {
		vm->events.serial(vm->events.data, bytes, (size_t)n);
	} else {
		loop_remove(vm->serial_watch);
		vm->serial_watch = NULL;
	}
}

static void standin_ended(struct loop *loop, int code, void *data)
{
	struct vm *vm = data;
	enum vm_end end = VM_END_CRASHED;
	char detail[64];

	(void)loop;
	if (vm->killed)
		end = VM_END_KILLED;
	else if (code == 0)
		end = VM_END_POWERED_OFF;
	else if (code == GUEST_RESET)
		end = VM_END_RESET;
	snprintf(detail, sizeof(detail), "exit code %d", code);
	vm->events.ended(vm->events.data, end, detail);
}

static int fork_guest(struct vm *vm, const struct vm_boot *boot, int serial, struct error *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return error_set(err, ERR_IO, "fork");
	if (pid > 0) {
		vm->guest.pid = pid;
		vm->guest.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		return 0;
	}
	const int keep[] = {boot->workspace_fd, boot->vsock_listen_fd, boot->lease_fd};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (is_word(boot->config->command, "late"))
		usleep(200000);
	if (!is_word(boot->config->command, "firmware"))
		(void)!write(serial, "standin: booting\n", 17);
	fd_close_others(keep, ARRAY_SIZE(keep));
	guest_run(boot->workspace_fd, boot->vsock_listen_fd, boot->config->command);
	_exit(0);
}

static struct vm *standin_boot(struct loop *loop, const struct vm_boot *boot,
			       const struct vm_events *events, struct error *err)
{
	struct vm *vm;
	int ends[2];

	if (getenv("STANDIN_NO_BOOT")) {
		error_set(err, ERR_UNAVAILABLE, "the standin does not boot");
		return NULL;
	}
	vm = calloc(1, sizeof(*vm));
	if (!vm || fd_pipe(ends, err) < 0)
		abort();
	vm->events = *events;
	vm->loop = loop;
	vm->serial = ends[0];
	vm->serial_watch = loop_add_fd(loop, ends[0], LOOP_IN, standin_serial, vm, err);
	if (fork_guest(vm, boot, ends[1], err) < 0 ||
	    !loop_add_proc(loop, &vm->guest, standin_ended, vm, err))
		abort();
	close(ends[1]);
	return vm;
}

static json_t *standin_describe(const struct vm *vm)
{
	return json_pack("{s:i, s:[]}", "pid", (int)vm->guest.pid, "companions");
}

static int standin_power_button(struct vm *vm, struct error *err)
{
	(void)vm;
	(void)err;
	return 0;
}

static void standin_kill(struct vm *vm)
{
	struct error err;

	vm->killed = true;
	(void)proc_kill(&vm->guest, &err);
}

static int standin_resume(struct vm *vm, struct error *err)
{
	(void)vm;
	(void)err;
	return 0;
}

static void standin_severed(struct loop *loop, void *data)
{
	struct vm *vm = data;
	const char *how = getenv("STANDIN_SEVER");
	json_t *names = json_pack("[s]", "standin");
	struct error why;

	(void)loop;
	if (how && !strcmp(how, "late"))
		error_set(&why, ERR_TIMEOUT, "passt did not end");
	else
		error_set(&why, ERR_DENIED, "the listing was refused");
	vm->sever_timer = NULL;
	if (how && (!strcmp(how, "unproven") || !strcmp(how, "late")))
		vm->events.severed(vm->events.data, NULL, &why);
	else
		vm->events.severed(vm->events.data, names, NULL);
	json_decref(names);
}

/* STANDIN_SEVER: "unproven" and "late" (told later), "refused" (at once), "stuck" (never told);
 * else it works. */
static int standin_sever(struct vm *vm, struct error *err)
{
	const char *how = getenv("STANDIN_SEVER");

	if (how && !strcmp(how, "refused"))
		return error_set(err, ERR_IO, "the companions cannot be found");
	if (how && !strcmp(how, "stuck"))
		return 0;
	vm->sever_timer = loop_add_timer(vm->loop, 0, standin_severed, vm, err);
	return vm->sever_timer ? 0 : -1;
}

static void standin_free(struct vm *vm)
{
	if (!vm)
		return;
	loop_remove(vm->sever_timer);
	proc_end(&vm->guest);
	close(vm->serial);
	free(vm);
}

/* Runs in the broker. Its one process ends with the supervisor. */
static int standin_end_all(struct vm *vm, struct error *err)
{
	(void)vm, (void)err;
	return 0;
}

static bool standin_asks_shell(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->console_shell;
}

static const struct backend_refusal standin_refusals[] = {
	{"console", "a process has no console", standin_asks_shell},
	{0},
};

static const struct backend standin_backend = {
	.name = "qemu",
	.has_firmware = true,
	.refusals = standin_refusals,
	.host = standin_host,
	.host_free = standin_host_free,
	.check = standin_check,
	.accelerator = standin_accelerator,
	.boot = standin_boot,
	.describe = standin_describe,
	.power_button = standin_power_button,
	.kill = standin_kill,
	.resume = standin_resume,
	.sever = standin_sever,
	.end_all = standin_end_all,
	.free = standin_free,
};

#endif
