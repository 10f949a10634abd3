/* SPDX-License-Identifier: MIT */
/*
 * Forks and executes one command.
 *
 * Between fork and exec the child is already the command's user, and opens the command's directory
 * and file. Usually the child uses the agent's memory, and the agent is stopped until exec (vfork),
 * which is fastest. But if something stops the child, it stops the agent too. A share whose server
 * is gone can do this, so a machine that has shares sets may_block, and the child is forked. A
 * SIGSTOP from a process of the same user just before exec can do this too: a hostile workload then
 * loses only the agent of its own machine, and PID 1 can still end the machine.
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
 * How a command gets into a container: the steps of the child, which is always forked for this. If
 * a step fails, it sets err to the reason. `data` is the child's own copy.
 */
struct spawn_inside {
	uint64_t namespaces; /* CLONE_NEW...: the child is started in new namespaces of these types
			      */
	/* The pidfd of a process in the pid namespace that the child gets; -1: the agent's, or a
	 * new one. */
	int pid_namespace;
	/* The descriptors that enter() uses. The child has them until enter() has returned, and has
	 * no other descriptor of the agent. */
	const int *descriptors;
	size_t ndescriptors; /* at most SPAWN_DESCRIPTORS */
	bool hold;	     /* the child waits for spawn_release() when all is set up */
	/* Enters the container, or makes it. */
	int (*enter)(void *data, struct error *err);
	/* Opens a terminal of the container. Called only if spawn_spec.terminal is set. */
	int (*open_terminal)(void *data, struct pty *out, struct error *err);
	/* Takes the user, the directory and the rights that the program is to have. */
	int (*become)(void *data, struct error *err);
	void *data;
};

struct spawn_spec {
	const char *const *argv; /* argv[0] without '/' is looked up in envp's PATH */
	const char *const *envp;
	const char *cwd;	 /* NULL: the user's home directory, or / if there is none */
	const struct user *user; /* NULL: the agent's own user */
	int fds[3];	/* the descriptors for 0, 1 and 2 of the program; all are above 2 */
	bool terminal;	/* fds[0] is the session's terminal; `inside` opens its own */
	int cgroup_fd;	/* -1: no cgroup */
	int program_fd; /* a file to execute; -1: argv[0] names the program */
	bool may_block; /* the child is forked, since exec may block (see the top of this file) */
	bool traced;	/* the command gets a login uid (kaudit_link.h) */
	const struct rlimits *rlimits;	   /* NULL: the usual limits */
	const struct spawn_inside *inside; /* NULL: no container; else user and cwd are unused */
};

/* The step of the child that has failed. SPAWN_ENTERED is no failure: the child is in its
 * container, and waits for spawn_release(). */
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
	int resource;	/* for SPAWN_RLIMIT: the limit */
	char text[256]; /* for SPAWN_INSIDE: the whole message */
};

/*
 * Starts a command. Returns 0 if there is a child. If *status_fd is -1, the exec is done already:
 * failure->step is SPAWN_NONE if the program runs, else the step that has failed. Otherwise
 * *status_fd is a non-blocking descriptor for spawn_hear(). In the command all signals are
 * unblocked and have their default action, if this process ignores no signal except SIGPIPE and
 * handles none.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/*
 * Reads the child's next report through `status_fd`. Returns 1 if *out is a failure, or has the
 * step SPAWN_ENTERED; *master is then the master of the container's terminal, or -1. Returns 0 if
 * there is no report yet. Returns -1 if the exec has succeeded, or the child has ended.
 */
int spawn_hear(int status_fd, struct spawn_failure *out, int *master);
/* Lets a child go on that waits because of spawn_inside.hold. */
int spawn_release(int status_fd, struct error *err);

/*
 * Makes path the working directory if it lies below the root of this process. Returns 0, or -1 with
 * errno. After EXDEV (path leads out of the root) the working directory is "/", after any other
 * error it is unchanged. A path can lead out of the root because chdir() also follows the links fd,
 * cwd and root of /proc/PID, which may end in another mount namespace; and a program keeps its
 * working directory at execve() (CVE-2024-21626 of runc).
 */
int spawn_enter_directory(const char *path);
/* Sets `err` to the meaning of `errnum` from spawn_enter_directory() for path. Returns -1. */
int spawn_explain_directory(const char *path, int errnum, struct error *err);

/* Returns the exit code for the failure: 127 if the program was not found, 126 if it cannot be
 * executed, else 125. Sets `err` to the message. */
int spawn_exit_code(const struct spawn_failure *failure, const char *program, const char *cwd,
		    const struct user *user, struct error *err);

#endif
