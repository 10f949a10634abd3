/* SPDX-License-Identifier: MIT */
/*
 * Starts a process by fork() and exec(). Between fork() and exec() the child makes only calls that
 * are async-signal-safe, because the caller may have threads. So all memory is allocated before
 * fork(), and all messages are made in the parent.
 *
 * A pipe reports to the parent what has happened in the child. If a step fails, the child writes
 * the step and errno to the pipe. A successful exec() closes the child's end of the pipe. So if the
 * parent reads no bytes until the end, the new program runs.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/descriptor.h"
#include "base/platform/spawn.h"
#include "base/proc.h"
#include "base/program.h"

enum step {
	STEP_USERNS = SPAWN_USERNS,
	STEP_BIND = SPAWN_BIND,
	STEP_STAGE = SPAWN_STAGE,
	STEP_FDS,
	STEP_SESSION,
	STEP_USER,
	STEP_CWD,
	STEP_CONFINE,
	STEP_PARENT,
	STEP_FILTER,
	STEP_EXEC,
	STEP_COUNT
};

static const char *const step_text[] = {
	[STEP_USERNS] = "enter a user namespace",
	[STEP_BIND] = "mount a directory for it",
	[STEP_STAGE] = "mount files for it",
	[STEP_FDS] = "pass descriptors",
	[STEP_SESSION] = "new session",
	[STEP_USER] = "change user",
	[STEP_CWD] = "working directory",
	[STEP_CONFINE] = "give up rights",
	[STEP_PARENT] = "bind to the parent's life",
	[STEP_FILTER] = "system call filter",
	[STEP_EXEC] = "execute",
};
static_assert(ARRAY_SIZE(step_text) == STEP_COUNT, "every step has a text");

struct report {
	enum step step;
	int errnum;
	size_t item; /* the index of the item of the stage (proc_stage.h), if STEP_STAGE has
		      * failed */
};

struct child {
	const struct proc_spec *spec;
	const char *program; /* the path of the program */
	int report;	     /* the write end of the pipe to the parent */
	pid_t parent;
	int above; /* a descriptor number that is greater than every `to` and greater than 2 */
	int *keep; /* memory for nfds + 1 descriptors, which place_fds() uses */
	const struct spawn_rights *rights;
};

static bool is_listed_fd(const struct proc_spec *spec, int to)
{
	for (size_t i = 0; i < spec->nfds; i++)
		if (spec->fds[i].to == to)
			return true;
	return false;
}

/*
 * Gives the child's descriptors their numbers. The number `from` of one descriptor may be the
 * number `to` of another one, which must not be overwritten. So all descriptors are first copied to
 * numbers that are no `to`, and then to their `to`. The pipe is also moved to such a number.
 */
static int place_fds(struct child *c)
{
	const struct proc_spec *spec = c->spec;
	size_t n = spec->nfds;

	int report = fcntl(c->report, F_DUPFD_CLOEXEC, c->above);
	if (report < 0)
		return -1;
	c->report = report;
	int null = descriptor_null();
	if (null < 0 || (null = fcntl(null, F_DUPFD_CLOEXEC, c->above)) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		c->keep[i] = fcntl(spec->fds[i].from, F_DUPFD_CLOEXEC, c->above);
		if (c->keep[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (dup2(c->keep[i], spec->fds[i].to) < 0)
			return -1;
		c->keep[i] = spec->fds[i].to;
	}
	for (int fd = 0; fd <= 2; fd++)
		if (!is_listed_fd(spec, fd) && dup2(null, fd) < 0)
			return -1;
	c->keep[n] = c->report;
	fd_close_others(c->keep, n + 1);
	return 0;
}

/* Returns argv or envp with the type that exec() requires, which has no const. exec() does not
 * change the words. */
static char *const *exec_vector(const char *const *v)
{
	return (char *const *)(uintptr_t)v;
}

static void become_program(struct child *c) __attribute__((noreturn));
static void become_program(struct child *c)
{
	const struct proc_spec *spec = c->spec;
	struct sigaction plain = {.sa_handler = SIG_DFL};
	enum spawn_step entering;
	struct report r = {0};
	struct error why = {0};
	sigset_t none;

	/* The new program must start without ignored or blocked signals, even if this process
	 * ignores or blocks some. */
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL); /* fails for SIGKILL and SIGSTOP, which cannot be
					     * ignored anyway */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (spawn_enter(spec, &entering, &r.item) < 0) {
		r.step = (enum step)entering;
		goto failed;
	}
	r.step = STEP_FDS;
	if (place_fds(c) < 0)
		goto failed;
	r.step = STEP_SESSION;
	if (spec->new_session && setsid() < 0)
		goto failed;
	r.step = STEP_USER;
	if (spawn_change_user(spec) < 0)
		goto failed;
	r.step = STEP_CWD;
	if (spec->cwd && chdir(spec->cwd) < 0)
		goto failed;
	r.step = STEP_CONFINE;
	if (spec->confine && spec->confine(&why) < 0) {
		errno = why.errnum;
		goto failed;
	}
	r.step = STEP_PARENT;
	if (spec->die_with_parent && spawn_end_with(c->parent) < 0)
		goto failed;
	r.step = STEP_FILTER;
	if (spawn_give_up(c->rights) < 0)
		goto failed;
	r.step = STEP_EXEC;
	spawn_exec(c->program, exec_vector(spec->argv),
		   spec->envp ? exec_vector(spec->envp) : NULL);
failed:
	r.errnum = errno;
	(void)!write(c->report, &r, sizeof(r));
	_exit(127);
}

/* Forks the child and stores its pid and pidfd. The child begins with all signals blocked, so that
 * no signal handler of this program runs in the child. */
static int fork_child(struct child *c, struct proc *out, struct error *err)
{
	struct proc p = PROC_NONE;
	sigset_t all, before;
	int why = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	p.pid = spawn_fork(c->spec->for_parent);
	if (p.pid == 0)
		become_program(c);
	if (p.pid < 0)
		why = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (p.pid < 0)
		return error_errno(err, why, "fork");
	if (proc_adopt(&p, err) < 0)
		return -1;
	*out = p;
	return 0;
}

static int hear_of_exec(int fd, const struct proc_spec *spec, struct error *err)
{
	struct report r;
	ssize_t n;

	do
		n = read(fd, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n != sizeof(r) || (unsigned)r.step >= STEP_COUNT)
		return error_set(
			err, ERR_INTERNAL,
			"start %s: the report of the new process is malformed: this is a bug of microagent",
			spec->argv[0]);
	if (r.step == STEP_CWD)
		return error_errno(err, r.errnum, "start %s: working directory %s", spec->argv[0],
				   spec->cwd);
	if (r.step == STEP_STAGE)
		return spawn_explain_stage(spec->stage, r.item, r.errnum, err);
	return error_errno(err, r.errnum, "start %s: %s", spec->argv[0], step_text[r.step]);
}

static int check_proc_spec(const struct proc_spec *spec, int *above, struct error *err)
{
	int highest = 2;

	if (!spec->argv || !spec->argv[0] || !*spec->argv[0])
		return error_set(err, ERR_INVALID,
				 "there is no program to start: its name is empty");
	for (size_t i = 0; i < spec->nfds; i++) {
		const struct proc_fd *f = &spec->fds[i];
		if (f->from < 0 || f->to < 0)
			return error_set(
				err, ERR_INVALID,
				"start %s: descriptor %d cannot become descriptor %d, because one of them is negative: this is a bug of microagent",
				spec->argv[0], f->from, f->to);
		for (size_t j = 0; j < i; j++)
			if (spec->fds[j].to == f->to)
				return error_set(
					err, ERR_INVALID,
					"start %s: two descriptors were to become descriptor %d: this is a bug of microagent",
					spec->argv[0], f->to);
		highest = f->to > highest ? f->to : highest;
	}
	*above = highest + 1;
	return 0;
}

int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err)
{
	struct child c = {.spec = spec, .parent = spec->for_parent ? getppid() : getpid()};
	struct proc p = PROC_NONE;
	int ends[2];

	if (check_proc_spec(spec, &c.above, err) < 0)
		return -1;
	/* The path of the program is searched here and not in the child, because the search
	 * allocates memory. */
	autofree char *found = strchr(spec->argv[0], '/') ? NULL : program_in_path(spec->argv[0]);
	c.program = found ? found : spec->argv[0];
	if (!strchr(c.program, '/'))
		return error_errno(err, ENOENT, "start %s: %s", spec->argv[0],
				   step_text[STEP_EXEC]);
	autofree int *keep = calloc(spec->nfds + 1, sizeof(*keep));
	if (!keep)
		return error_errno(err, ENOMEM, "start %s", spec->argv[0]);
	c.keep = keep;
	autofree struct spawn_rights *rights = NULL;
	if (spawn_prepare(spec, &rights, err) < 0 || fd_pipe(ends, err) < 0)
		return -1;
	autoclose int heard = ends[0];
	c.rights = rights;
	c.report = ends[1];
	int rc = fork_child(&c, &p, err);
	close(ends[1]);
	if (rc < 0)
		return error_prefix(err, "start %s", spec->argv[0]);
	if (hear_of_exec(heard, spec, err) < 0) {
		proc_end(&p);
		return -1;
	}
	*out = p;
	return 0;
}
