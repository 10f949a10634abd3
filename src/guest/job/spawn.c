/* SPDX-License-Identifier: MIT */
#include "guest/job/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/job/clone.h"
#include "guest/job/environ.h"

/* The soft limit of open files for a command, which is the usual limit of login sessions. The agent
 * itself has a higher limit, which a command must not inherit. */
#define COMMAND_FDS_SOFT 1024

static int lead_terminal(int fd)
{
	for (int i = 0; i < 3; i++)
		if (dup2(fd, i) < 0)
			return -1;
	return ioctl(0, TIOCSCTTY, 0);
}

/* The data that a child uses between fork and exec. `spec` says what to do, and `failure` is the
 * report if a step fails. */
struct child {
	const struct spawn_spec *spec;
	/* The socket or pipe through which the child sends its report. -1: the child shares the
	 * parent's memory, and the parent reads `failure` directly. */
	int status_fd;
	struct spawn_failure failure;
};

/* The largest number of file descriptors that a command's process keeps until its execve(), besides
 * 0, 1 and 2. */
#define KEPT_DESCRIPTORS (7 + SPAWN_DESCRIPTORS)

/* Closes all file descriptors except 0 to 2, those that the child needs until its execve(), and the
 * `n` file descriptors in `more`. The flag close-on-exec is not enough: before the execve(), the
 * path of the command's program could lead to an open file of the agent through /proc/self/fd. */
static void close_other_descriptors(const struct child *child, const int *more, size_t n)
{
	int keep[KEPT_DESCRIPTORS] = {child->status_fd, child->spec->program_fd};
	size_t nkeep = 2;

	for (size_t i = 0; i < n && nkeep < KEPT_DESCRIPTORS; i++)
		keep[nkeep++] = more[i];
	fd_close_others(keep, nkeep);
}

static int enter_session(const struct child *child)
{
	const struct spawn_spec *spec = child->spec;
	const struct sched_param usual = {0};
	struct rlimit nofile;
	sigset_t none;
	int oom_fd;

	if (setsid() < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(spec->fds[i], i) < 0)
			return -1;
	if (spec->terminal && !spec->inside && ioctl(0, TIOCSCTTY, 0) < 0)
		return -1;
	/* Lets the OOM killer kill a command before the agent. The write fails in a test that does
	 * not run as root, which does no harm. */
	oom_fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (oom_fd >= 0)
		(void)!write(oom_fd, "0", 1);
	cleanup_close(&oom_fd);
	/* Sets the usual scheduling policy, because the agent has another one (SCHED_BATCH). */
	sched_setscheduler(0, SCHED_OTHER, &usual);
	if (getrlimit(RLIMIT_NOFILE, &nofile) == 0 && nofile.rlim_cur > COMMAND_FDS_SOFT) {
		nofile.rlim_cur = COMMAND_FDS_SOFT;
		setrlimit(RLIMIT_NOFILE, &nofile);
	}
	if (spec->inside)
		close_other_descriptors(child, spec->inside->descriptors,
					spec->inside->ndescriptors);
	else
		close_other_descriptors(child, NULL, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Sets the login uid of this process, so that the process is traced. All descendants inherit the
 * login uid and cannot change it. Does nothing if the kernel has no audit. */
static void take_login_uid(const struct user *user)
{
	autoclose int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", user ? user->uid : geteuid());

	if (fd >= 0 && write(fd, text, (size_t)len) < 0)
		return; /* a login uid was set before, for example in a test */
}

int spawn_enter_directory(const char *path)
{
	char name[PATH_MAX];
	int errnum = EXDEV;

	if (chdir(path) < 0)
		return -1;
	/* The system call returns "(unreachable)/..." if the directory is not below the root.
	 * glibc's getcwd() does not return such a result but searches for another path, so it is
	 * not used. */
	if (syscall(SYS_getcwd, name, sizeof(name)) < 0)
		errnum = errno;
	else if (name[0] == '/')
		return 0;
	if (chdir("/") < 0)
		errnum = errno;
	errno = errnum;
	return -1;
}

/* Returns the errno of a failed execve(). If execve() fails with ENOENT and the file exists, the
 * interpreter in the file's first line (#!) or the loader of the ELF file is missing. In that case
 * the function returns ELIBACC. */
static int exec_errno(const char *file)
{
	int why = errno;

	return why == ENOENT && access(file, F_OK) == 0 ? ELIBACC : why;
}

/* Tries to execute the program from each directory of PATH. Returns only on failure, with an errno.
 * If a file was found but could not be executed, returns EACCES or ELIBACC instead of ENOENT.
 * Unlike execvp(), never gives the file to a shell. */
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
			int why = exec_errno(file);
			if (why != ENOENT && why != ENOTDIR && why != EACCES && why != ELIBACC)
				return why;
			if (why == EACCES || (why == ELIBACC && remembered == ENOENT))
				remembered = why;
		}
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	return remembered;
}

static int exec_program(const struct spawn_spec *spec)
{
	/* The casts remove `const`. execve() does not change the strings. */
	char *const *args = (char *const *)(uintptr_t)spec->argv;
	char *const *envp = (char *const *)(uintptr_t)spec->envp;

	if (spec->program_fd >= 0) {
		syscall(SYS_execveat, spec->program_fd, "", args, envp, AT_EMPTY_PATH);
		return errno;
	}
	if (!strchr(spec->argv[0], '/'))
		return spec->argv[0][0] ? exec_in_path(spec->argv, args, envp) : ENOENT;
	execve(spec->argv[0], args, envp);
	return exec_errno(spec->argv[0]);
}

/* Checks that the command's program exists and can be executed. Returns 0 or an errno. Without this
 * check a container could be created although its program cannot be started. */
static int look_for_program(const struct spawn_spec *spec)
{
	const char *path = environ_get(spec->envp, "PATH"), *name = spec->argv[0];
	int remembered = ENOENT;
	char file[PATH_MAX];
	struct stat st;

	if (strchr(name, '/') && stat(name, &st) == 0 && !S_ISREG(st.st_mode))
		return EACCES;
	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? 0 : errno;
	for (const char *dir = path ? path : DEFAULT_PATH; dir && *name;) {
		size_t len = strcspn(dir, ":");

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)len, len ? dir : ".",
				     name) < sizeof(file) &&
		    stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(file, X_OK) == 0)
				return 0;
			remembered = EACCES;
		}
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	return remembered;
}

static int enter_inside(struct child *child, struct error *err)
{
	const struct spawn_inside *inside = child->spec->inside;
	const struct spawn_failure word = {.step = SPAWN_ENTERED};
	struct pty pty = {-1, -1};
	char go;

	if (inside->enter(inside->data, err) < 0)
		return -1;
	close_other_descriptors(child, NULL, 0);
	if (child->spec->terminal &&
	    (inside->open_terminal(inside->data, &pty, err) < 0 || lead_terminal(pty.terminal) < 0))
		return err->code ? -1 : error_errno(err, errno, "terminal");
	child->failure.step = SPAWN_EXEC;
	errno = inside->hold ? look_for_program(child->spec) : 0;
	if (errno)
		return -1;
	child->failure.step = SPAWN_INSIDE;
	/* Reports that the child is in its container. The message also passes the terminal's master
	 * to the agent. */
	if (fd_send_passing(child->status_fd, &word, sizeof(word), &pty.master, pty.master >= 0,
			    0) < 0)
		return error_errno(err, errno, "held");
	/* The read fails if the agent has exited, or if it has closed the socket because it does
	 * not want to start the container. */
	if (inside->hold && read(child->status_fd, &go, 1) != 1)
		return error_errno(err, errno, "held");
	return 0;
}

/* Enters the container, and sets the resource limits, the login uid and the user for the program.
 * On failure sets child->failure. */
static int become_contained(struct child *child)
{
	const struct spawn_inside *inside = child->spec->inside;
	struct spawn_failure *failure = &child->failure;
	struct error why = {0};

	failure->step = SPAWN_INSIDE;
	if (enter_inside(child, &why) == 0) {
		failure->step = SPAWN_RLIMIT;
		if (child->spec->rlimits &&
		    rlimits_apply(child->spec->rlimits, &failure->resource) < 0)
			return -1;
		failure->step = SPAWN_INSIDE;
		if (child->spec->traced)
			take_login_uid(child->spec->user);
		if (inside->become(inside->data, &why) == 0)
			return 0;
	}
	snprintf(failure->text, sizeof(failure->text), "%.250s", why.msg);
	return -1;
}

static int become_command(struct child *child)
{
	const struct spawn_spec *spec = child->spec;
	const struct user *user = spec->user;
	struct spawn_failure *failure = &child->failure;

	failure->step = SPAWN_RLIMIT;
	if (spec->rlimits && rlimits_apply(spec->rlimits, &failure->resource) < 0)
		return -1;
	if (spec->traced)
		take_login_uid(user);
	failure->step = SPAWN_USER;
	if (user && (geteuid() == 0 || user->uid != geteuid()) && user_become(user) < 0)
		return -1;
	failure->step = SPAWN_CWD;
	if (spec->cwd)
		return spawn_enter_directory(spec->cwd);
	if (user && spawn_enter_directory(user->home) == 0)
		return 0;
	return chdir("/");
}

static void run_spawned(void *data)
{
	struct child *child = data;
	struct spawn_failure *failure = &child->failure;

	failure->step = SPAWN_SESSION;
	if (enter_session(child) < 0)
		goto fail;
	if ((child->spec->inside ? become_contained : become_command)(child) < 0)
		goto fail;
	/* In shared memory, the parent finds this value after a successful execve(). */
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

/* The data of an intermediate process. This process creates a child in the pid namespace of a
 * container. */
struct between {
	struct child child;
	pid_t pid; /* the child's pid in the agent's pid namespace, or -errno */
};

/* Enters the pid namespace and creates the child. The intermediate process runs this function on
 * the memory of the agent. The agent is stopped until the intermediate process exits. */
static void run_between(void *data)
{
	struct between *between = data;
	const struct spawn_spec *spec = between->child.spec;
	const struct spawn_inside *inside = spec->inside;
	int keep[5 + SPAWN_DESCRIPTORS] = {spec->fds[0], spec->fds[1], spec->fds[2],
					   spec->cgroup_fd, inside->pid_namespace};
	size_t nkeep = 5;
	int pidfd;

	for (size_t i = 0; i < inside->ndescriptors && i < SPAWN_DESCRIPTORS; i++)
		keep[nkeep++] = inside->descriptors[i];
	close_other_descriptors(&between->child, keep, nkeep);
	if (setns(inside->pid_namespace, CLONE_NEWPID) < 0) {
		between->pid = -errno;
		_exit(1);
	}
	between->pid = clone_fork(inside->namespaces | CLONE_PARENT, spec->cgroup_fd, &pidfd);
	if (between->pid == 0)
		run_spawned(&between->child);
	_exit(0);
}

/*
 * Forks a child in the pid namespace that spec->inside names. setns() sets the pid namespace of all
 * later children of the process that calls it. The agent's later children must not be in that
 * namespace, so an intermediate process calls setns() and creates the child. The child's parent is
 * the agent (CLONE_PARENT).
 *
 * The intermediate process closes the agent's file descriptors first. The processes of the
 * container see the child from its start, and one with CAP_SYS_PTRACE could copy file descriptors
 * of the child.
 */
static pid_t fork_into_namespace(const struct spawn_spec *spec, int status_fd, int *pidfd)
{
	struct between between = {.child = {.spec = spec, .status_fd = status_fd}};
	int unused = -1;
	pid_t pid = clone_vfork(-1, &unused, run_between, &between);

	if (pid < 0)
		return pid;
	cleanup_close(&unused);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	if (between.pid < 0)
		return between.pid;
	*pidfd = pidfd_open(between.pid, 0);
	if (*pidfd >= 0)
		return between.pid;
	int errnum = errno;
	kill(between.pid, SIGKILL);
	waitpid(between.pid, NULL, 0);
	return -errnum;
}

static int start_by_fork(const struct spawn_spec *spec, struct proc *out, int *status_fd,
			 struct error *err)
{
	const struct spawn_inside *inside = spec->inside;
	int status[2] = {-1, -1}, pidfd = -1;
	pid_t pid;

	if (inside ? fd_socketpair(status, err) < 0 : fd_pipe(status, err) < 0)
		return -1;
	autoclose int status_read = status[0], status_write = status[1];
	if (fd_nonblock(status_read, true, err) < 0)
		return -1;
	if (inside && inside->pid_namespace >= 0)
		pid = fork_into_namespace(spec, status_write, &pidfd);
	else
		pid = clone_fork(inside ? inside->namespaces : 0, spec->cgroup_fd, &pidfd);
	if (pid < 0)
		return error_errno(err, -pid, "cannot start a process");
	if (pid == 0) {
		/* The child closes its copy of the agent's end of the pipe or socket. Otherwise the
		 * child could not notice that the agent has closed this end. */
		close(status_read);
		run_spawned(&(struct child){.spec = spec, .status_fd = status_write});
	}
	*out = (struct proc){.pid = pid, .pidfd = pidfd};
	*status_fd = steal_fd(&status_read);
	return 0;
}

int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err)
{
	struct child child = {.spec = spec, .status_fd = -1};
	int pidfd = -1;
	pid_t pid;

	*status_fd = -1;
	if (spec->may_block || spec->inside)
		return start_by_fork(spec, out, status_fd, err);
	/* A child on the agent's memory must not run signal handlers. No signal needs to be blocked
	 * for this, since the agent has no signal handlers. */
	pid = clone_vfork(spec->cgroup_fd, &pidfd, run_spawned, &child);
	if (pid == -ENOSYS)
		return start_by_fork(spec, out, status_fd, err);
	if (pid < 0)
		return error_errno(err, -pid, "cannot start a process");
	*out = (struct proc){.pid = pid, .pidfd = pidfd};
	*failure = child.failure;
	return 0;
}

int spawn_hear(int status_fd, struct spawn_failure *out, int *master)
{
	size_t nfds = 1;
	ssize_t n;

	*master = -1;
	n = fd_receive_passed(status_fd, out, sizeof(*out), master, &nfds, MSG_DONTWAIT);
	if (n < 0 && errno == ENOTSOCK)
		n = read(status_fd, out, sizeof(*out));
	if (n == (ssize_t)sizeof(*out)) {
		/* The text may lack a NUL: a process of the container with CAP_SYS_PTRACE may have
		 * copied the child's end of the socket, and may have sent these bytes. */
		out->text[sizeof(out->text) - 1] = '\0';
		return 1;
	}
	cleanup_close(master);
	*master = -1;
	return n < 0 && errno == EAGAIN ? 0 : -1;
}

int spawn_release(int status_fd, struct error *err)
{
	return fd_write_all(status_fd, "", 1, err);
}

int spawn_explain_directory(const char *path, int errnum, struct error *err)
{
	if (errnum == EXDEV)
		return error_set(
			err, ERR_DENIED,
			"cannot enter the directory %.300s, because it is outside the root directory of the command: name a directory inside it",
			path);
	return error_errno(err, errnum, "cannot enter the directory %.300s", path);
}

int spawn_exit_code(const struct spawn_failure *failure, const char *program, const char *cwd,
		    const struct user *user, struct error *err)
{
	bool no_interpreter = failure->errnum == ELIBACC;
	bool missing = failure->errnum == ENOENT || failure->errnum == ENOTDIR || no_interpreter;

	switch (failure->step) {
	case SPAWN_RLIMIT:
		error_errno(err, failure->errnum, "cannot set the limit %s",
			    rlimits_name(failure->resource));
		return 125;
	case SPAWN_INSIDE:
		error_set(err, ERR_IO, "%s", failure->text);
		return 125;
	case SPAWN_CWD:
		spawn_explain_directory(cwd ? cwd : "/", failure->errnum, err);
		return 125;
	case SPAWN_USER:
		error_errno(err, failure->errnum, "cannot become user %.64s",
			    user ? user->name : "?");
		return 125;
	case SPAWN_EXEC:
		if (no_interpreter)
			error_set(
				err, ERR_NOT_FOUND,
				"cannot execute %.300s: the file exists, but the interpreter or loader that it names does not: install that in the guest",
				program);
		else if (missing && !strchr(program, '/'))
			error_set(
				err, ERR_NOT_FOUND,
				"%.300s: not found in PATH: install this program in the guest, or give its whole path",
				*program ? program : "\"\"");
		else
			error_errno(err, failure->errnum, "cannot execute %.300s", program);
		return missing ? 127 : 126;
	default:
		error_errno(err, failure->errnum, "cannot set up the command's process");
		return 125;
	}
}
