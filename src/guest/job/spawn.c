/* SPDX-License-Identifier: MIT */
#include "guest/job/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/job/clone.h"
#include "guest/job/environ.h"

/* What login sessions get elsewhere; the agent itself runs with more. */
#define COMMAND_FDS_SOFT 1024

/* The agent is spared by the OOM killer; what it runs is not. */
static void be_killable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0) {
		/* not ours to change, as in a test that is not root */
	}
	close(fd);
}

static void reset_limits(void)
{
	struct rlimit nofile;

	if (getrlimit(RLIMIT_NOFILE, &nofile) == 0 && nofile.rlim_cur > COMMAND_FDS_SOFT) {
		nofile.rlim_cur = COMMAND_FDS_SOFT;
		setrlimit(RLIMIT_NOFILE, &nofile);
	}
}

/* The agent's own policy is not for what it runs. */
static void be_scheduled_as_usual(void)
{
	struct sched_param none = {0};

	sched_setscheduler(0, SCHED_OTHER, &none);
}

static int enter_session(const struct spawn_spec *spec)
{
	sigset_t none;

	if (setsid() < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(spec->fds[i], i) < 0)
			return -1;
	if (spec->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		return -1;
	be_killable();
	be_scheduled_as_usual();
	reset_limits();
	/* All of ours are close-on-exec; this is for one that was forgotten. */
	syscall(SYS_close_range, 3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Once set, it is of all that comes of this process. A kernel without audit has no such thing. */
static void take_login_uid(const struct user *user)
{
	autoclose int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", user ? user->uid : geteuid());

	if (fd >= 0 && write(fd, text, (size_t)len) < 0)
		return; /* it has one already, as in a test */
}

static int become_user(const struct user *user)
{
	if (!user || (geteuid() != 0 && user->uid == geteuid()))
		return 0;
	if (setgroups(user->ngroups, user->groups) < 0)
		return -1;
	if (setresgid(user->gid, user->gid, user->gid) < 0)
		return -1;
	return setresuid(user->uid, user->uid, user->uid);
}

static int enter_directory(const struct spawn_spec *spec)
{
	if (spec->cwd)
		return chdir(spec->cwd);
	if (spec->user && chdir(spec->user->home) == 0)
		return 0;
	return chdir("/");
}

/* Returns only with an errno: what the last of the PATH's candidates said, but "no rights" is
 * remembered, because a file that may not be run is not "not found". Never tries a shell. */
static int exec_in_path(const char *const *argv, char *const *args, char *const *envp)
{
	const char *path = environ_get((const char *const *)envp, "PATH");
	char file[PATH_MAX];
	int remembered = ENOENT;

	for (const char *dir = path ? path : DEFAULT_PATH; dir;) {
		size_t len = strcspn(dir, ":");

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)len, len ? dir : ".",
				     argv[0]) < sizeof(file)) {
			execve(file, args, envp);
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return errno;
			if (errno == EACCES)
				remembered = EACCES;
		}
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	return remembered;
}

static int exec_program(const struct spawn_spec *spec)
{
	/* execve() wants pointers to what it does not change */
	char *const *args = (char *const *)(uintptr_t)spec->argv;
	char *const *envp = (char *const *)(uintptr_t)spec->envp;

	if (spec->program_fd >= 0) {
		syscall(SYS_execveat, spec->program_fd, "", args, envp, AT_EMPTY_PATH);
		return errno;
	}
	if (!strchr(spec->argv[0], '/'))
		return spec->argv[0][0] ? exec_in_path(spec->argv, args, envp) : ENOENT;
	execve(spec->argv[0], args, envp);
	return errno;
}

/* What the child is to do, and how it tells what went wrong. */
struct child {
	const struct spawn_spec *spec;
	int status_fd; /* -1: the parent reads the failure where it is */
	struct spawn_failure failure;
};

static void run_spawned(void *data)
{
	struct child *child = data;
	struct spawn_failure *failure = &child->failure;

	failure->step = SPAWN_SESSION;
	if (enter_session(child->spec) < 0)
		goto fail;
	failure->step = SPAWN_RLIMIT;
	if (child->spec->rlimits && rlimits_apply(child->spec->rlimits, &failure->resource) < 0)
		goto fail;
	if (child->spec->traced)
		take_login_uid(child->spec->user);
	failure->step = SPAWN_USER;
	if (become_user(child->spec->user) < 0)
		goto fail;
	failure->step = SPAWN_CWD;
	if (enter_directory(child->spec) < 0)
		goto fail;
	/* On shared memory the parent reads this when exec has succeeded. */
	if (child->status_fd < 0)
		failure->step = SPAWN_NONE;
	errno = exec_program(child->spec);
	failure->step = SPAWN_EXEC;
fail:
	failure->errnum = errno;
	if (child->status_fd >= 0 && write(child->status_fd, failure, sizeof(*failure)) < 0)
		_exit(125);
	_exit(127);
}

/* The signals of the terminal and of others must not be handled by the child on our memory; we
 * handle none, so there is nothing to block. */
static int start_by_vfork(const struct spawn_spec *spec, struct proc *out,
			  struct spawn_failure *failure, struct error *err)
{
	struct child child = {.spec = spec, .status_fd = -1};
	int pidfd = -1;
	pid_t pid = clone_vfork(spec->cgroup_fd, &pidfd, run_spawned, &child);

	if (pid < 0)
		return error_errno(err, -pid, "cannot start a process");
	*out = (struct proc){.pid = pid, .pidfd = pidfd};
	*failure = child.failure;
	return 0;
}

static int start_by_fork(const struct spawn_spec *spec, struct proc *out, int *status_fd,
			 struct error *err)
{
	int status[2], pidfd = -1;
	pid_t pid;

	if (fd_pipe(status, err) < 0)
		return -1;
	autoclose int status_read = status[0], status_write = status[1];
	if (fd_nonblock(status_read, true, err) < 0)
		return -1;
	pid = clone_fork(spec->cgroup_fd, &pidfd);
	if (pid < 0)
		return error_errno(err, -pid, "cannot start a process");
	if (pid == 0)
		run_spawned(&(struct child){.spec = spec, .status_fd = status_write});
	*out = (struct proc){.pid = pid, .pidfd = pidfd};
	*status_fd = steal_fd(&status_read);
	return 0;
}

int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err)
{
	struct error why = {0};

	*status_fd = -1;
	if (!spec->may_block && start_by_vfork(spec, out, failure, &why) == 0)
		return 0;
	if (!spec->may_block && why.errnum != ENOSYS)
		return error_set(err, why.code, "%.500s", why.msg);
	return start_by_fork(spec, out, status_fd, err);
}

int spawn_explain(const struct spawn_failure *failure, const char *program, const char *cwd,
		  const struct user *user, struct error *err)
{
	bool missing = failure->errnum == ENOENT || failure->errnum == ENOTDIR;

	switch (failure->step) {
	case SPAWN_RLIMIT:
		error_errno(err, failure->errnum, "cannot set the limit %s",
			    rlimits_name(failure->resource));
		return 125;
	case SPAWN_CWD:
		error_errno(err, failure->errnum, "cannot enter the directory %.300s",
			    cwd ? cwd : "/");
		return 125;
	case SPAWN_USER:
		error_errno(err, failure->errnum, "cannot become user %.64s",
			    user ? user->name : "?");
		return 125;
	case SPAWN_EXEC:
		if (missing && !strchr(program, '/'))
			error_set(err, ERR_NOT_FOUND, "%.300s: not found in PATH", program);
		else
			error_errno(err, failure->errnum, "cannot execute %.300s", program);
		return missing ? 127 : 126;
	default:
		error_errno(err, failure->errnum, "cannot set up the command's process");
		return 125;
	}
}
