/* SPDX-License-Identifier: MIT */
/* Processes. Each process is held by a descriptor that stands for it (platform/process.h). So no
 * signal is sent to another process that has got the same pid. */
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
	pid_t pid; /* the pid of the process; 0 if there is no process */
	int pidfd; /* a descriptor that is readable when the process has ended; -1 if there is no
		    * process */
};
#define PROC_NONE                     \
	{                             \
		.pid = 0, .pidfd = -1 \
	}

/* The child gets a copy of this process's descriptor `from` as its descriptor `to`. A descriptor
 * that is not listed is closed in the child. */
struct proc_fd {
	int from;
	int to;
};

struct proc_spec {
	const char *const *argv;   /* the argument vector; argv[0] is looked up by program_in_path()
				  * unless it has a '/' */
	const char *const *envp;   /* the environment; NULL: that of this process */
	const struct proc_fd *fds; /* the descriptors of the child; 0, 1 and 2 become /dev/null if
				    * they are not listed */
	size_t nfds;
	bool die_with_parent; /* the child is killed when the calling thread ends; with
			       * `for_parent`, when the child's parent ends */
	bool new_session;     /* the child calls setsid() */
	bool for_parent;      /* the new process becomes a child of this process's parent, which
			       * reaps it. A broker uses this to start processes for the process
			       * that asks it. */
	uid_t uid;	      /* 0: the child keeps this process's user; else uid, gid and groups
			       * are set */
	gid_t gid;
	int userns_fd; /* > 0: the child enters this user namespace, which this process owns, as the
			* namespace's root */
	/* Only with `userns_fd`: the child gets a new mount namespace, in which the directory
	 * `bind_fd` is mounted on `bind_at`, with everything that is mounted below the directory
	 * now. `bind_fd` may stand for a directory that was renamed. NULL: nothing is mounted. */
	const char *bind_at;
	int bind_fd;
	bool bind_follows;   /* later mounts below the directory appear for the child too; the
			      * directory itself is read-only, the mounts below it are not */
	bool bind_read_only; /* the directory and all mounts below it are read-only */
	/* The child sees files under other names, in new namespaces (proc_stage.h). Cannot be used
	 * with `userns_fd`. NULL: no stage. */
	const struct proc_stage *stage;
	const gid_t *groups;
	size_t ngroups;
	/* > 0: a file with a compiled system call filter. The filter holds from the program's first
	 * instruction on, with no_new_privs. */
	int filter;
	const char *cwd; /* the working directory; NULL: that of this process */
	/* Gives up rights, in the child between fork() and exec(). May be NULL. If the function
	 * fails, only the errnum of its error is reported. */
	int (*confine)(struct error *err);
};

/* Starts a process. Returns when exec has succeeded in the child. If exec fails, the call fails
 * with the errno of the child. In the child no signal is ignored or blocked. */
int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err);
/* Opens the pidfd of a child that was forked (p->pid); on failure kills and reaps the child. */
int proc_adopt(struct proc *p, struct error *err);
/* Waits for the end of a child and reaps it. *code becomes its exit code, or 128+signal.
 * ERR_TIMEOUT at the deadline (on clock_mono_ns(); UINT64_MAX: no deadline). On success *p becomes
 * PROC_NONE. */
int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err);
/* Kills the process with SIGKILL if it lives, reaps it and closes its pidfd. Accepts PROC_NONE. */
void proc_end(struct proc *p);
/* Opens the pidfd of a process that need not be a child; proc_let_go() closes it. ERR_NOT_FOUND if
 * there is no such process. */
int proc_hold(pid_t pid, struct proc *out, struct error *err);
/* Closes the pidfd without ending the process; p becomes PROC_NONE. Accepts PROC_NONE. */
void proc_let_go(struct proc *p);
/* Sends SIGKILL. If there is a broker, the broker sends it. */
int proc_kill(const struct proc *p, struct error *err);
/* The broker's duty for proc_kill(): it kills only processes that descend from the process that
 * asks. The duty's data is an int: the pidfd of one more process that may be killed; -1: no such
 * process. */
extern const struct broker_duty proc_kill_duty;
int proc_signal(const struct proc *p, int signal, struct error *err);
/* Runs a program to its end. Its stdin is /dev/null, and its stdout is appended to `out` (NULL:
 * stdout is /dev/null). ERR_TIMEOUT at the deadline; the program is then killed. ERR_IO if the exit
 * code is not 0; the message has the last part of stderr. */
int proc_run(const char *const *argv, struct buf *out, uint64_t deadline_ns, struct error *err);
/* Runs a program like proc_run(), in a user namespace that this process owns (`userns_fd` > 0), as
 * the namespace's root. */
int proc_run_in(int userns_fd, const char *const *argv, struct buf *out, uint64_t deadline_ns,
		struct error *err);
/* Calls process_start_time(). If there is a broker, the broker calls it. */
int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err);
extern const struct broker_duty proc_start_time_duty;

#endif
