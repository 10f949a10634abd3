/* SPDX-License-Identifier: MIT */
/* Processes by a descriptor that stands for one (platform/process.h): no pid is ever signalled that
 * could have been reused. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct broker_duty;
struct proc_stage;

struct proc {
	pid_t pid; /* 0 when there is none */
	int pidfd; /* readable when it has ended; -1 when there is none */
};
#define PROC_NONE                     \
	{                             \
		.pid = 0, .pidfd = -1 \
	}

/* Child descriptor `to` becomes a copy of ours `from`. Everything not listed is closed. */
struct proc_fd {
	int from;
	int to;
};

struct proc_spec {
	const char *const *argv; /* argv[0] is looked up by program_in_path() unless it has a '/' */
	const char *const *envp; /* NULL: ours */
	const struct proc_fd *fds; /* 0-2 not listed become /dev/null */
	size_t nfds;
	bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL, set last, parent re-checked;
			       * the "parent" is the calling thread */
	bool new_session;     /* setsid() */
	bool for_parent;      /* becomes the child of our parent, which reaps it: a broker's work */
	uid_t uid;	      /* 0: unchanged; else uid, gid and groups are set */
	gid_t gid;
	int userns_fd; /* > 0: enters this user namespace, of ours, and becomes its root */
	/* With userns_fd: the directory that bind_fd is, whatever its name has become, is mounted
	 * on bind_at in a mount namespace of the child's own, with what is mounted below it now
	 * and, unless bind_follows, nothing that is later. NULL: none. */
	const char *bind_at;
	int bind_fd;
	bool bind_follows;   /* and is read-only itself, but not what is mounted in it */
	bool bind_read_only; /* with all that is mounted below it */
	/* Files at names, in namespaces of the child's own (proc_stage.h); not with userns_fd.
	 * NULL: none. */
	const struct proc_stage *stage;
	const gid_t *groups;
	size_t ngroups;
	/* > 0: a file that is a compiled system call filter; it holds from the program's first
	 * instruction, and no_new_privs with it. */
	int filter;
	const char *cwd; /* NULL: unchanged */
	/* What the child gives up last of all; to be called between fork() and exec(). NULL: none.
	 */
	int (*confine)(struct error *err);
};

/* Returns when exec has succeeded in the child; a failure of exec is reported here by errno. Signal
 * dispositions and the mask are the default ones in the child. */
int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err);
/* p->pid is a child that was forked: opens its pidfd, or kills and reaps it. */
int proc_adopt(struct proc *p, struct error *err);
/* The status as of waitid(): *code is the exit code or 128+signal. ERR_TIMEOUT at the deadline
 * (monotonic; UINT64_MAX for none). On success the proc is reaped and becomes PROC_NONE. */
int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err);
/* SIGKILL (if alive), reap, close. Accepts PROC_NONE. */
void proc_end(struct proc *p);
/* A process that need not be a child, until proc_let_go(). ERR_NOT_FOUND: there is none. */
int proc_hold(pid_t pid, struct proc *out, struct error *err);
/* Closes without ending it; it becomes PROC_NONE. Accepts PROC_NONE. */
void proc_let_go(struct proc *p);
/* SIGKILL, by the broker where there is one to be asked. */
int proc_kill(const struct proc *p, struct error *err);
/* Its data: an int, the pidfd of one that is known without a parent that is; or -1. */
extern const struct broker_duty proc_kill_duty;
int proc_signal(const struct proc *p, int signal, struct error *err);
/* Runs to the end with stdin from /dev/null, stdout into out (NULL: /dev/null) and the last part of
 * stderr into err's message when the exit code is not 0. */
int proc_run(const char *const *argv, struct buf *out, uint64_t deadline_ns, struct error *err);
/* The same in a user namespace of ours (userns_fd > 0), as its root. */
int proc_run_in(int userns_fd, const char *const *argv, struct buf *out, uint64_t deadline_ns,
		struct error *err);
/* process_start_time(), by the broker where there is one to be asked. */
int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err);
extern const struct broker_duty proc_start_time_duty;

#endif
