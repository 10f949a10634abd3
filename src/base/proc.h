/* SPDX-License-Identifier: MIT */
/* Processes. Each process is represented by a descriptor that refers to it (platform/process.h). So
 * a signal can never reach another process that has got the same pid. */
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
	int pidfd; /* a descriptor that becomes readable when the process has exited; -1 if there is
		    * no process */
};
#define PROC_NONE                     \
	{                             \
		.pid = 0, .pidfd = -1 \
	}

/* The child gets a copy of this process's descriptor `from` as its descriptor `to`. All descriptors
 * that are not listed are closed in the child. */
struct proc_fd {
	int from;
	int to;
};

struct proc_spec {
	const char *const *argv;   /* the argument vector; program_in_path() finds the path of
				    * argv[0], unless argv[0] contains a '/' */
	const char *const *envp;   /* the environment; NULL: the environment of this process */
	const struct proc_fd *fds; /* the descriptors of the child; 0, 1 and 2 become /dev/null if
				    * they are not listed */
	size_t nfds;
	bool die_with_parent; /* the child is killed when the calling thread exits; with
			       * `for_parent`, when the child's parent exits */
	bool new_session;     /* the child calls setsid() */
	bool for_parent;      /* the new process becomes a child of this process's parent, which
			       * reaps it. A broker uses this to start processes for its client. */
	uid_t uid;	      /* 0: the child has the same user as this process; otherwise the
			       * child's uid, gid and groups are set */
	gid_t gid;
	int userns_fd; /* > 0: the child enters this user namespace, which this process owns, and is
		        * root in the namespace */
	/* Only with `userns_fd`: the child gets a new mount namespace, in which the directory
	 * `bind_fd` is mounted on `bind_at`, with everything that is mounted below the directory at
	 * the time of the call. The directory `bind_fd` may have been renamed. NULL: nothing is
	 * mounted. */
	const char *bind_at;
	int bind_fd;
	bool bind_follows;   /* later mounts below the directory appear in the child's namespace
			      * too; the directory itself is read-only, but the mounts below it are
			      * not */
	bool bind_read_only; /* the directory and all mounts below it are read-only */
	/* The child sees files at other paths, in new namespaces (proc_stage.h). Cannot be used
	 * with `userns_fd`. NULL: there is no stage. */
	const struct proc_stage *stage;
	const gid_t *groups;
	size_t ngroups;
	/* > 0: the descriptor of a file with a compiled system call filter. The filter is in force
	 * from the program's first instruction on, together with no_new_privs. */
	int filter;
	const char *cwd; /* the working directory; NULL: the working directory of this process */
	/* Gives up rights. Called in the child between fork() and exec(). May be NULL. If the
	 * function fails, only the errnum of its error is reported. */
	int (*confine)(struct error *err);
};

/* Starts a process. Returns 0 when exec has succeeded in the child. If exec fails, this function
 * fails with the child's error number. In the child no signal is ignored or blocked. */
int proc_spawn(const struct proc_spec *spec, struct proc *out, struct error *err);
/* Opens the pidfd of the forked child p->pid. On failure, kills and reaps the child. */
int proc_adopt(struct proc *p, struct error *err);
/* Waits until a child has exited, and reaps it. Sets *code to its exit code, or to 128 + the signal
 * that killed it. ERR_TIMEOUT: the deadline passed (on clock_mono_ns(); UINT64_MAX: there is no
 * deadline). On success *p becomes PROC_NONE. */
int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err);
/* Kills the child with SIGKILL if it lives, reaps it and closes its pidfd. Accepts PROC_NONE. */
void proc_end(struct proc *p);
/* Opens the pidfd of a process that need not be a child. proc_let_go() closes the pidfd.
 * ERR_NOT_FOUND: there is no such process. */
int proc_hold(pid_t pid, struct proc *out, struct error *err);
/* Closes the pidfd without ending the process, and sets *p to PROC_NONE. Accepts PROC_NONE. */
void proc_let_go(struct proc *p);
/* Sends SIGKILL to the process. If there is a broker, the broker sends the signal. */
int proc_kill(const struct proc *p, struct error *err);
/* The broker's duty for proc_kill(). The broker kills only processes that descend from the client
 * of the broker. The duty's data is an int: the pidfd of one more process that may be killed; -1:
 * there is no such process. */
extern const struct broker_duty proc_kill_duty;
int proc_signal(const struct proc *p, int signal, struct error *err);
/* Runs a program until it exits. The program's stdin is /dev/null, and its stdout is appended to
 * `out` (NULL: stdout is /dev/null). ERR_TIMEOUT: the deadline passed, and the program was killed.
 * ERR_IO: the exit code is not 0, and the message has the last part of stderr. */
int proc_run(const char *const *argv, struct buf *out, uint64_t deadline_ns, struct error *err);
/* Runs a program like proc_run(), as root in the user namespace userns_fd (> 0), which this process
 * owns. */
int proc_run_in(int userns_fd, const char *const *argv, struct buf *out, uint64_t deadline_ns,
		struct error *err);
/* Does the same as process_start_time(). If there is a broker, the broker does it. */
int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err);
extern const struct broker_duty proc_start_time_duty;

#endif
