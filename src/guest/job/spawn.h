/* SPDX-License-Identifier: MIT */
/*
 * Forks and executes one command. If it cannot be started, decides the exit code: 126 or 127.
 *
 * Between fork and exec the child already runs as the command's user, and opens the command's
 * directory and file. Usually the child uses the agent's memory, and the agent is stopped until the
 * exec (vfork). This takes the least time. But if the child is blocked, the agent stays stopped.
 *
 * A share whose server is gone can block the child. So on a machine that has shares, may_block is
 * set, and the child is forked. A process of the same user can also stop the child by a SIGSTOP
 * just before the exec. A hostile workload can only stop the agent of its own machine in this way,
 * and PID 1 can still end the machine.
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
 * The functions that a child calls to enter a container. Such a child is always forked, so its
 * `data` is a copy of the agent's. A function returns 0, or -1 with err set.
 */
struct spawn_inside {
	/* CLONE_NEW... flags of the namespaces that are created together with the child. */
	uint64_t namespaces;
	/* The pidfd of a process whose pid namespace the child joins. -1: the child gets the
	 * agent's pid namespace or a new pid namespace. */
	int pid_namespace;
	/* The file descriptors that enter() uses. The child keeps these file descriptors until
	 * enter() has returned, and closes all other file descriptors of the agent before. */
	const int *descriptors;
	size_t ndescriptors; /* at most SPAWN_DESCRIPTORS */
	bool hold;	     /* when everything is set up, the child waits for spawn_release() */
	/* Enters an existing container, or sets up a new container. */
	int (*enter)(void *data, struct error *err);
	/* Opens a terminal of the container. Called only if spawn_spec.terminal is true. */
	int (*open_terminal)(void *data, struct pty *out, struct error *err);
	/* Sets the user, the directory and the rights for the program. */
	int (*become)(void *data, struct error *err);
	void *data;
};

struct spawn_spec {
	/* The words of the command. If argv[0] has no '/', it is searched in the PATH of envp. */
	const char *const *argv;
	const char *const *envp;
	/* The working directory. NULL: the user's home directory, or "/" if that does not exist. */
	const char *cwd;
	const struct user *user; /* the user of the command; NULL: the user of the agent */
	/* The file descriptors that become the program's 0, 1 and 2. All three are above 2. */
	int fds[3];
	/* fds[0] is a terminal, which becomes the controlling terminal of the command. A child in a
	 * container opens a terminal of the container instead. */
	bool terminal;
	/* A file descriptor of the cgroup in which the child starts. -1: the cgroup of the
	 * agent. */
	int cgroup_fd;
	int program_fd; /* a descriptor of the file to execute; -1: argv[0] names the file */
	/* The child must be forked and not vforked, since it may block before its exec (see the
	 * head of this file). */
	bool may_block;
	bool traced; /* the command gets a login uid (kaudit_link.h) */
	/* The resource limits of the command; NULL: the usual limits. */
	const struct rlimits *rlimits;
	/* The container of the command; user and cwd are then not used. NULL: the command is in no
	 * container. */
	const struct spawn_inside *inside;
};

/* The step of the child that has failed. SPAWN_ENTERED is not a failure, but says that the child is
 * in its container and waits for spawn_release(). */
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
 * Starts a command. Returns 0 if a child was created, otherwise -1 with err set. If *status_fd is
 * -1, the child has already tried the exec: failure->step is SPAWN_NONE if the program runs,
 * otherwise the step that has failed. If *status_fd is not -1, it is a non-blocking file descriptor
 * for spawn_hear(), which the caller closes. The command gets no blocked signal, and the default
 * action for every signal. For this the calling process must not have a signal handler, and must
 * ignore no signal except SIGPIPE.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/*
 * Reads the child's next report through `status_fd`. Returns 1 if *out was set to a failure or to
 * the step SPAWN_ENTERED. *master is then the master of the container's terminal, which the caller
 * closes, or -1 if there is none. Returns 0 if there is no report yet. Returns -1 if the exec has
 * succeeded, or the child has ended.
 */
int spawn_hear(int status_fd, struct spawn_failure *out, int *master);
/* Lets a child continue that waits because spawn_inside.hold is true. */
int spawn_release(int status_fd, struct error *err);

/*
 * Makes `path` the working directory if it is below the root directory of this process. Returns 0,
 * or -1 with errno set. EXDEV means that `path` is outside of the root directory. In this case the
 * working directory is now "/". After any other error the working directory is usually unchanged.
 *
 * A path can lead out of the root directory because chdir() also follows the links fd, cwd and root
 * of /proc/PID. Such a link may lead into another mount namespace. A program that is executed keeps
 * such a working directory (CVE-2024-21626 of runc).
 */
int spawn_enter_directory(const char *path);
/* Sets `err` to an error message for `errnum`, which is the errno from spawn_enter_directory(path).
 * Returns -1. */
int spawn_explain_directory(const char *path, int errnum, struct error *err);

/* Returns the exit code of a command with this failure: 127 if the program was not found, 126 if it
 * cannot be executed, and 125 in all other cases. Sets `err` to the error message. */
int spawn_exit_code(const struct spawn_failure *failure, const char *program, const char *cwd,
		    const struct user *user, struct error *err);

#endif
