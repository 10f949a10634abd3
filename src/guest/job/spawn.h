/* SPDX-License-Identifier: MIT */
/*
 * The fork and exec of one command.
 *
 * Between fork and exec the child is already the command's user and touches the command's directory
 * and file. Usually it does so on our memory while we stand still (vfork), which costs least. Then
 * whatever holds the child holds us: a share whose server is gone, so a machine that has shares
 * sets may_block and pays for a fork; and a SIGSTOP from a process of the same user in the instant
 * before exec, which makes a workload that is set on it lose its own agent and nobody else's (PID 1
 * still ends the machine).
 */
#ifndef GUEST_SPAWN_H
#define GUEST_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"
#include "guest/job/pty.h"
#include "guest/job/rlimits.h"
#include "guest/job/users.h"

#define SPAWN_DESCRIPTORS 4

/*
 * What makes a command that of a container: steps of the child, which is forked for it. Each puts
 * what went wrong in words; data is the child's own copy.
 */
struct spawn_inside {
	uint64_t namespaces; /* CLONE_NEW...: its own, from its first moment */
	int pid_namespace;   /* by a pidfd, whose process is in it; -1: ours, or its own */
	/* The descriptors that enter() uses. The child has them until enter() has returned, and
	 * no other descriptor of the agent's. */
	const int *descriptors;
	size_t ndescriptors; /* at most SPAWN_DESCRIPTORS */
	bool hold;	     /* it waits for spawn_release() when all is set up */
	/* Enters the container, or makes it. */
	int (*enter)(void *data, struct error *err);
	/* A terminal of the container's; only where spawn_spec.terminal. */
	int (*open_terminal)(void *data, struct pty *out, struct error *err);
	/* Becomes the user, in the directory, with the rights that the program is to have. */
	int (*become)(void *data, struct error *err);
	void *data;
};

struct spawn_spec {
	const char *const *argv; /* argv[0] without '/' is looked up in envp's PATH */
	const char *const *envp;
	const char *cwd;	 /* NULL: the user's home, or / without one */
	const struct user *user; /* NULL: as we are */
	int fds[3];		 /* all above 2; become 0, 1 and 2 */
	bool terminal;		 /* fds[0] is a terminal, to be the session's own; inside: one is
				  * to be made */
	int cgroup_fd;		 /* -1: none */
	int program_fd;		 /* -1: argv[0] names the program; else this file is it */
	bool may_block;		 /* see above */
	bool traced;		 /* gets a login uid, which kaudit_link.h goes by */
	const struct rlimits *rlimits;	   /* NULL: those of every command */
	const struct spawn_inside *inside; /* NULL: in no container; else without user and cwd */
};

/* Which step of the child failed. ENTERED is no failure: it is in its container, and holds. */
enum spawn_step {
	SPAWN_NONE,
	SPAWN_SESSION,
	SPAWN_RLIMIT,
	SPAWN_USER,
	SPAWN_CWD,
	SPAWN_INSIDE,
	SPAWN_EXEC,
	SPAWN_ENTERED
};
struct spawn_failure {
	int step;
	int errnum;
	int resource;	/* RLIMIT: which */
	char text[256]; /* INSIDE: all that is to be said */
};

/*
 * On success there is a child. *status_fd is -1 when its fate is known: *failure says it, step NONE
 * for a program that runs. Else the (non-blocking) descriptor reaches its end when exec has
 * succeeded, and yields a struct spawn_failure before that when it has not. Signals are unblocked
 * and at their defaults in the command, provided that this process ignores none but SIGPIPE and
 * handles none.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/*
 * What the child says by status_fd. 1: *out is a failure, or ENTERED, with the master of the
 * container's terminal in *master (else -1); 0: nothing yet; -1: it is past its exec, or gone.
 */
int spawn_hear(int status_fd, struct spawn_failure *out, int *master);
/* Lets one that holds go on. */
int spawn_release(int status_fd, struct error *err);

/*
 * Makes path the working directory if it lies below the root of this process, and returns 0. Returns
 * -1 with errno otherwise; the working directory is then "/" if path led out of the root (EXDEV), or
 * as it was. A path can lead out of the root because chdir() also follows the links fd, cwd and root
 * of /proc/PID, which may end in another mount namespace, and a working directory outlives execve()
 * (CVE-2024-21626 of runc).
 */
int spawn_enter_directory(const char *path);
/* Sets err to what errnum of spawn_enter_directory() says of path; returns -1. */
int spawn_explain_directory(const char *path, int errnum, struct error *err);

/* The exit code that tells of the failure: 127 not found, 126 not executable, 125 else; text names
 * what was asked for. */
int spawn_explain(const struct spawn_failure *failure, const char *program, const char *cwd,
		  const struct user *user, struct error *err);

#endif
