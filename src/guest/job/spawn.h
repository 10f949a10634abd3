/* SPDX-License-Identifier: MIT */
/*
 * Forks and executes one command.
 *
 * Between fork and exec the child is already the command's user, and opens the command's directory
 * and file. Usually the child uses the agent's memory, and the agent is stopped until the exec
 * (vfork). This takes the least time. But while the child is blocked, the agent is stopped too.
 *
 * A share whose server is gone can block the child. So on a machine that has shares, may_block is
 * set, and the child is forked. A process of the same user can also stop the child by a SIGSTOP
 * just before the exec. In this way a hostile workload stops only the agent of its own machine, and
 * PID 1 can still end the machine.
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
 * The functions by which a child gets into a container. The child is always forked for this, so
 * `data` is the child's own copy. A function that fails sets `err` to the reason.
 */
struct spawn_inside {
	/* CLONE_NEW... flags of the types of namespaces that are made for the child. */
	uint64_t namespaces;
	/* The pidfd of a process in the pid namespace that the child gets. -1: the child gets the
	 * agent's pid namespace, or a new one. */
	int pid_namespace;
	/* The descriptors that enter() uses. The child keeps them until enter() has returned. It
	 * keeps no other descriptor of the agent. */
	const int *descriptors;
	size_t ndescriptors; /* the number of descriptors, at most SPAWN_DESCRIPTORS */
	bool hold;	     /* the child waits for spawn_release() when everything is set up */
	/* Enters an existing container, or makes a new one. */
	int (*enter)(void *data, struct error *err);
	/* Opens a terminal of the container. Called only if spawn_spec.terminal is set. */
	int (*open_terminal)(void *data, struct pty *out, struct error *err);
	/* Takes the user, the directory and the rights that the program must have. */
	int (*become)(void *data, struct error *err);
	void *data;
};

struct spawn_spec {
	/* The words of the command; argv[0] is looked up in the PATH of envp if it has no '/'. */
	const char *const *argv;
	const char *const *envp;
	/* The working directory; NULL: the user's home directory, or "/" if there is none. */
	const char *cwd;
	const struct user *user; /* the user of the command; NULL: the user of the agent */
	/* The descriptors that the program gets as 0, 1 and 2; all of them are above 2. */
	int fds[3];
	/* fds[0] is a terminal, which becomes the terminal of the command's session. A child in a
	 * container opens a terminal of the container instead. */
	bool terminal;
	/* A descriptor of the cgroup in which the child starts; -1: the agent's own cgroup. */
	int cgroup_fd;
	int program_fd; /* a descriptor of the file to execute; -1: argv[0] names the file */
	/* The child is forked, since its exec may block (see the head of this file). */
	bool may_block;
	bool traced; /* the command gets a login uid (kaudit_link.h) */
	/* The resource limits of the command; NULL: the usual limits. */
	const struct rlimits *rlimits;
	/* The container of the command, for which user and cwd are not used; NULL: no container. */
	const struct spawn_inside *inside;
};

/* The step of the child that has failed. SPAWN_ENTERED is not a failure: the child is in its
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
	int resource;	/* for SPAWN_RLIMIT: the number of the resource limit */
	char text[256]; /* for SPAWN_INSIDE: the whole error message */
};

/*
 * Starts a command. Returns 0 if there is a child. If *status_fd is -1, the exec has been tried
 * already: failure->step is SPAWN_NONE if the program runs, else the step that has failed.
 * Otherwise *status_fd is a non-blocking descriptor for spawn_hear(). In the command no signal is
 * blocked, and all signals have their default action. For this the caller must ignore no signal
 * except SIGPIPE, and must handle none.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/*
 * Reads the child's next report through `status_fd`. Returns 1 if *out is a failure or has the step
 * SPAWN_ENTERED. *master is then the master of the container's terminal, or -1 if there is none.
 * Returns 0 if there is no report yet. Returns -1 if the exec has succeeded, or the child has
 * ended.
 */
int spawn_hear(int status_fd, struct spawn_failure *out, int *master);
/* Lets a child continue that waits because of spawn_inside.hold. */
int spawn_release(int status_fd, struct error *err);

/*
 * Makes `path` the working directory if it lies below the root of this process. Returns 0, or -1
 * with errno. EXDEV means that the path leads out of the root; the working directory is then "/".
 * After any other error the working directory is unchanged.
 *
 * A path can lead out of the root because chdir() also follows the links fd, cwd and root of
 * /proc/PID. These may end in another mount namespace. A program would keep such a working
 * directory at execve() (CVE-2024-21626 of runc).
 */
int spawn_enter_directory(const char *path);
/* Sets `err` to the meaning of `errnum`, which spawn_enter_directory() has returned for `path`.
 * Returns -1. */
int spawn_explain_directory(const char *path, int errnum, struct error *err);

/* Returns the exit code for the failure: 127 if the program was not found, 126 if it cannot be
 * executed, else 125. Sets `err` to the error message. */
int spawn_exit_code(const struct spawn_failure *failure, const char *program, const char *cwd,
		    const struct user *user, struct error *err);

#endif
