/* SPDX-License-Identifier: MIT */
/* Processes, each by a descriptor that stands for it (platform/process.h): no signal is ever sent
 * to a pid that could have been reused. */
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
	pid_t pid; /* 0 if there is no process */
	int pidfd; /* readable when the process has ended; -1 if there is none */
};
#define PROC_NONE                     \
	{                             \
		.pid = 0, .pidfd = -1 \
	}

/* The child gets a copy of this process's descriptor `from` as its descriptor `to`. Everything that
 * is not listed is closed. */
struct proc_fd {
	int from;
	int to;
};

struct proc_spec {
	const char *const *argv; /* argv[0] is looked up by program_in_path() unless it has a '/' */
	const char *const *envp; /* NULL: the environment of this process */
	const struct proc_fd *fds; /* 0-2 not listed become /dev/null */
	size_t nfds;
	bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL, set last, then the parent is checked
			       * again; the "parent" is the calling thread */
	bool new_session;     /* setsid() */
	bool for_parent;      /* becomes the child of this process's parent, which reaps it: for a
			       * broker */
	uid_t uid;	      /* 0: unchanged; else uid, gid and groups are set */
	gid_t gid;
	int userns_fd; /* > 0: the child enters this user namespace, which this process owns, as its
			* root */
	/* Only with userns_fd: mounts the directory bind_fd, even if it was renamed, on bind_at in
	 * a mount namespace of the child's own, with what is mounted below it now. Later mounts
	 * below it appear only if bind_follows is set. NULL: none. */
	const char *bind_at;
	int bind_fd;
	bool bind_follows;   /* later mounts appear; the directory is read-only itself, but not what
			      * is mounted in it */
	bool bind_read_only; /* the directory is read-only with all that is mounted below it */
	/* Shows files under other names, in namespaces of the child's own (proc_stage.h); not with
	 * userns_fd. NULL: none. */
	const struct proc_stage *stage;
	const gid_t *groups;
	size_t ngroups;
	/* > 0: a file that is a compiled system call filter. It holds from the program's first
	 * instruction, with no_new_privs. */
	int filter;
	const char *cwd; /* NULL: unchanged */
	/* Called between fork() and exec(), as the last step, to give up rights. NULL: none. */
	int (*confine)(struct error *err);
};

/* Starts a process. Returns when exec has succeeded in the child; a failure of exec is reported
 * here by errno. The child has the default signal dispositions and mask. */
int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err);
/* Opens the pidfd of a child that was forked (p->pid); on failure kills and reaps the child. */
int proc_adopt(struct proc *p, struct error *err);
/* Waits for the end of a process: *code is the exit code or 128+signal, as waitid() reports it.
 * ERR_TIMEOUT at the deadline (monotonic; UINT64_MAX for none). On success the process is reaped
 * and p becomes PROC_NONE. */
int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err);
/* Kills the process with SIGKILL if it lives, reaps it and closes its pidfd. Accepts PROC_NONE. */
void proc_end(struct proc *p);
/* Opens a process that need not be a child; proc_let_go() closes it. ERR_NOT_FOUND if there is
 * none. */
int proc_hold(pid_t pid, struct proc *out, struct error *err);
/* Closes the pidfd without ending the process; p becomes PROC_NONE. Accepts PROC_NONE. */
void proc_let_go(struct proc *p);
/* Sends SIGKILL, through the broker if there is one. */
int proc_kill(const struct proc *p, struct error *err);
/* Kills a process of this machine. The duty's data is an int: the pidfd of one more process that
 * may be killed although it does not descend from the asker; or -1. */
extern const struct broker_duty proc_kill_duty;
int proc_signal(const struct proc *p, int signal, struct error *err);
/* Runs a program to its end, with stdin from /dev/null and stdout into out (NULL: /dev/null). If
 * the exit code is not 0, err's message has the last part of stderr. */
int proc_run(const char *const *argv, struct buf *out, uint64_t deadline_ns, struct error *err);
/* Does the same in a user namespace of this process (userns_fd > 0), as its root. */
int proc_run_in(int userns_fd, const char *const *argv, struct buf *out, uint64_t deadline_ns,
		struct error *err);
/* Returns process_start_time(), through the broker if there is one. */
int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err);
extern const struct broker_duty proc_start_time_duty;

#endif
