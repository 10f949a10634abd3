/* SPDX-License-Identifier: MIT */
/*
 * Starts processes on macOS. macOS has no namespaces, and cannot end a process together with its
 * parent. So a process that must end with its parent gets a keeper. The keeper is a third process,
 * which is a child of neither of the two and has none of their descriptors. The keeper waits until
 * the process or the parent has exited. If the parent has exited, the keeper kills the process.
 * This file was compiled and linked for macOS, but never run there.
 */
#include "base/platform/spawn.h"

#include <crt_externs.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform/descriptor.h"

/* --- in the parent ---------------------------------------------------------------------------- */

int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err)
{
	if (spec->userns_fd > 0 || spec->bind_at || spec->stage)
		return error_set(err, ERR_UNSUPPORTED, "start %s: macOS has no namespaces",
				 spec->argv[0]);
	if (spec->filter > 0)
		return error_set(err, ERR_UNSUPPORTED, "start %s: macOS has no system call filters",
				 spec->argv[0]);
	if (spec->for_parent)
		return error_set(err, ERR_UNSUPPORTED,
				 "start %s: on macOS a process starts only children of its own",
				 spec->argv[0]);
	*out = NULL;
	return 0;
}

int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err)
{
	(void)stage, (void)n;
	return error_errno(err, errnum, "namespaces for its files");
}

/* --- in the child ----------------------------------------------------------------------------- */

pid_t spawn_fork(bool for_parent)
{
	if (!for_parent)
		return fork();
	errno = ENOTSUP;
	return -1;
}

int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item)
{
	(void)spec, (void)item;
	*step = SPAWN_USERNS;
	return 0;
}

/* Changes the user. This process is root, so setuid() changes the real, the effective and the saved
 * id (setuid(2)). */
int spawn_change_user(const struct proc_spec *spec)
{
	if (spec->uid == 0)
		return 0;
	if (setgroups((int)spec->ngroups, spec->groups) < 0 || setgid(spec->gid) < 0)
		return -1;
	return setuid(spec->uid);
}

/* Runs the keeper: waits until `parent` or `child` has exited, and kills `child` if `parent` has
 * exited. kqueue(2) reports the exit of any process, but refuses to watch a process that has
 * already exited. */
static void keep_with(pid_t parent, pid_t child) __attribute__((noreturn));
static void keep_with(pid_t parent, pid_t child)
{
	struct kevent change, event = {0};
	int queue;

	(void)setsid();
	descriptor_close_span(0, UINT_MAX);
	queue = kqueue();
	EV_SET(&change, child, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	if (queue < 0 || kevent(queue, &change, 1, NULL, 0, NULL) < 0)
		_exit(1);
	EV_SET(&change, parent, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	if (kevent(queue, &change, 1, NULL, 0, NULL) < 0)
		event.ident = (uintptr_t)parent;
	while (!event.ident)
		if (kevent(queue, NULL, 0, &event, 1, NULL) < 0 && errno != EINTR)
			_exit(1);
	if (event.ident == (uintptr_t)parent)
		kill(child, SIGKILL);
	_exit(0);
}

/* Starts a process that starts the keeper and exits. So the keeper is not a child of this process,
 * whose new program would not expect such a child. */
int spawn_end_with(pid_t parent)
{
	pid_t child = getpid(), between = fork();
	int status;

	if (between == 0) {
		pid_t keeper = fork();

		if (keeper == 0)
			keep_with(parent, child);
		_exit(keeper < 0 ? 1 : 0);
	}
	if (between < 0)
		return -1;
	while (waitpid(between, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		errno = EAGAIN;
		return -1;
	}
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	return 0;
}

int spawn_give_up(const struct spawn_rights *rights)
{
	(void)rights;
	return 0;
}

/* Sets the global variable `environ`, which execvP() passes to the program. execvP() searches the
 * PATH that it gets as an argument. */
void spawn_exec(const char *program, char *const *argv, char *const *envp)
{
	const char *path = getenv("PATH");

	if (envp)
		*_NSGetEnviron() = (char **)(uintptr_t)envp;
	execvP(program, path ? path : "/usr/bin:/bin", argv);
}
