/* SPDX-License-Identifier: MIT */
/*
 * fork() and exec(). Between the two only async-signal-safe calls are made, since the caller may
 * have threads: all memory is taken before, all messages are made after, in the parent.
 *
 * Failures before exec and of exec itself come back over a pipe that exec closes. The child sends
 * the step and errno; an empty pipe says that the new program runs.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/linux/proc_stage.h"
#include "base/proc.h"

enum step {
	STEP_USERNS,
	STEP_BIND,
	STEP_STAGE,
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
	size_t item; /* STEP_STAGE: of the stage */
};

struct child {
	const struct proc_spec *spec;
	int report; /* write end of the pipe */
	pid_t parent;
	int above;		  /* lowest descriptor number above every `to` */
	int *keep;		  /* nfds + 1 numbers of scratch */
	struct sock_fprog filter; /* len 0: none */
};

static bool is_listed_fd(const struct proc_spec *spec, int to)
{
	for (size_t i = 0; i < spec->nfds; i++)
		if (spec->fds[i].to == to)
			return true;
	return false;
}

/*
 * A `from` may be the number of another one's `to`, so all of them are first copied to numbers that
 * no `to` has, and only then to their places. The pipe moves out of the way the same way.
 */
static int place_fds(struct child *c)
{
	const struct proc_spec *spec = c->spec;
	size_t n = spec->nfds;

	int report = fcntl(c->report, F_DUPFD_CLOEXEC, c->above);
	if (report < 0)
		return -1;
	c->report = report;
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
		if (!is_listed_fd(spec, fd))
			close(fd);
	for (int fd = 0; fd <= 2; fd++)
		if (!is_listed_fd(spec, fd) && open("/dev/null", O_RDWR) < 0)
			return -1;
	c->keep[n] = c->report;
	fd_close_others(c->keep, n + 1);
	return 0;
}

static int change_user(const struct proc_spec *spec)
{
	if (spec->userns_fd > 0)
		return setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ? -1 : setresuid(0, 0, 0);
	if (spec->uid == 0)
		return 0;
	if (setgroups(spec->ngroups, spec->groups) < 0 ||
	    setresgid(spec->gid, spec->gid, spec->gid) < 0)
		return -1;
	return setresuid(spec->uid, spec->uid, spec->uid);
}

/*
 * A descriptor from before cannot be mounted in a new mount namespace, since it leads to a mount of
 * the old one; the working directory can, since the kernel moves it along.
 *
 * What is mounted on the host later does not come to the directory: it is cut off before it is made
 * read-only, so that what came in between is read-only too. The other mounts go on following the
 * host, or each of them would stay in use here after the host has let go of it.
 */
static int bind_directory(const char *at, bool read_only)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	if (unshare(CLONE_NEWNS) < 0 || mount(".", at, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    mount(NULL, at, NULL, MS_PRIVATE | MS_REC, NULL) < 0)
		return -1;
	if (read_only && mount_setattr(AT_FDCWD, at, AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -1;
	return chdir("/");
}

/* Set after the change of user, which clears it. A parent that ended before is noticed by the new
 * one's pid. */
static int bind_to_parent(const struct child *c)
{
	if (!c->spec->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (getppid() != c->parent)
		_exit(128 + SIGKILL);
	return 0;
}

static int set_filter(const struct sock_fprog *filter)
{
	if (filter->len == 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter);
}

/* What we ignore or block is no business of the new program. */
static void reset_signals(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL); /* refused for SIGKILL, SIGSTOP */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* argv and envp are const for our callers; exec() takes them otherwise but changes nothing. */
static char *const *exec_vector(const char *const *v)
{
	return (char *const *)(uintptr_t)v;
}

static void become_program(struct child *c) __attribute__((noreturn));
static void become_program(struct child *c)
{
	const struct proc_spec *spec = c->spec;
	struct report r = {.step = STEP_USERNS};
	struct error why = {0};

	reset_signals();
	/* By our own rights, which those of the namespace are not. */
	if (spec->bind_at && fchdir(spec->bind_fd) < 0)
		goto failed;
	if (spec->userns_fd > 0 && setns(spec->userns_fd, CLONE_NEWUSER) < 0)
		goto failed;
	r.step = STEP_BIND;
	if (spec->bind_at && bind_directory(spec->bind_at, spec->bind_read_only) < 0)
		goto failed;
	r.step = STEP_STAGE;
	if (spec->stage && proc_stage_enter(spec->stage, &r.item) < 0)
		goto failed;
	r.step = STEP_FDS;
	if (place_fds(c) < 0)
		goto failed;
	r.step = STEP_SESSION;
	if (spec->new_session && setsid() < 0)
		goto failed;
	r.step = STEP_USER;
	if (change_user(spec) < 0)
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
	if (bind_to_parent(c) < 0)
		goto failed;
	r.step = STEP_FILTER;
	if (set_filter(&c->filter) < 0)
		goto failed;
	r.step = STEP_EXEC;
	execvpe(spec->argv[0], exec_vector(spec->argv),
		spec->envp ? exec_vector(spec->envp) : environ);
failed:
	r.errnum = errno;
	(void)!write(c->report, &r, sizeof(r));
	_exit(127);
}

/* The pid and pidfd of a child that begins with all signals blocked, lest a handler of ours runs in
 * it. */
static int fork_child(struct child *c, struct proc *out, struct error *err)
{
	struct proc p = PROC_NONE;
	sigset_t all, before;
	int why = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* As fork() does, but for the parent; there are no threads where that is wanted. */
	p.pid = c->spec->for_parent
			? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0)
			: fork();
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

/* A file that could be opened here and cannot be shown there. */
static int tell_stage(const struct report *r, const struct proc_stage *stage, struct error *err)
{
	const struct proc_stage_item *item = r->item < stage->count ? &stage->items[r->item] : NULL;

	if (!item)
		return error_errno(err, r->errnum, "namespaces for the files of the machine");
	if (item->userns_fd >= 0 && (r->errnum == EINVAL || r->errnum == EOPNOTSUPP))
		return error_set(err, ERR_UNAVAILABLE,
				 "%.120s: its file system cannot show it to the machine's user "
				 "(idmapped mounts: ext4, XFS, btrfs, and tmpfs since Linux 6.3)",
				 item->path);
	return error_errno(err, r->errnum, "%s", item->path ? item->path : "a device node");
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
		return error_set(err, ERR_INTERNAL, "start %s: bad report", spec->argv[0]);
	if (r.step == STEP_CWD)
		return error_errno(err, r.errnum, "start %s: working directory %s", spec->argv[0],
				   spec->cwd);
	if (r.step == STEP_STAGE)
		return tell_stage(&r, spec->stage, err);
	return error_errno(err, r.errnum, "start %s: %s", spec->argv[0], step_text[r.step]);
}

static int check_proc_spec(const struct proc_spec *spec, int *above, struct error *err)
{
	int highest = 2;

	if (!spec->argv || !spec->argv[0] || !*spec->argv[0])
		return error_set(err, ERR_INVALID, "no program to start");
	for (size_t i = 0; i < spec->nfds; i++) {
		const struct proc_fd *f = &spec->fds[i];
		if (f->from < 0 || f->to < 0)
			return error_set(err, ERR_INVALID, "start %s: descriptor %d to %d",
					 spec->argv[0], f->from, f->to);
		for (size_t j = 0; j < i; j++)
			if (spec->fds[j].to == f->to)
				return error_set(err, ERR_INVALID,
						 "start %s: two descriptors become %d",
						 spec->argv[0], f->to);
		highest = f->to > highest ? f->to : highest;
	}
	*above = highest + 1;
	return 0;
}

static int read_filter(const struct proc_spec *spec, struct sock_filter **code, unsigned short *len,
		       struct error *err)
{
	struct stat st;

	if (spec->filter <= 0)
		return 0;
	if (fstat(spec->filter, &st) < 0)
		return error_errno(err, errno, "start %s: system call filter", spec->argv[0]);
	if (st.st_size == 0 || (size_t)st.st_size > BPF_MAXINSNS * sizeof(**code))
		return error_set(err, ERR_INTERNAL, "start %s: a system call filter of %lld bytes",
				 spec->argv[0], (long long)st.st_size);
	autofree struct sock_filter *bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return error_errno(err, ENOMEM, "start %s", spec->argv[0]);
	if (pread(spec->filter, bytes, (size_t)st.st_size, 0) != st.st_size)
		return error_set(err, ERR_IO, "start %s: system call filter", spec->argv[0]);
	*code = steal_ptr(&bytes);
	*len = (unsigned short)((size_t)st.st_size / sizeof(**code));
	return 0;
}

int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err)
{
	struct child c = {.spec = spec, .parent = spec->for_parent ? getppid() : getpid()};
	struct proc p = PROC_NONE;
	int ends[2];

	if (check_proc_spec(spec, &c.above, err) < 0)
		return -1;
	autofree int *keep = calloc(spec->nfds + 1, sizeof(*keep));
	if (!keep)
		return error_errno(err, ENOMEM, "start %s", spec->argv[0]);
	c.keep = keep;
	autofree struct sock_filter *filter = NULL;
	if (read_filter(spec, &filter, &c.filter.len, err) < 0 || fd_pipe(ends, err) < 0)
		return -1;
	autoclose int heard = ends[0];
	c.filter.filter = filter;
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
