/* SPDX-License-Identifier: MIT */
/*
 * Forks and executes one command.
 *
 * Between fork and exec the child is already the command's user, and touches the command's
 * directory and file. Usually the child uses the agent's memory, and the agent stands still
 * meanwhile (vfork), which costs least. Then whatever holds up the child holds up the agent. A
 * share whose server is gone does so; a machine that has shares therefore sets may_block and pays
 * for a fork. A SIGSTOP from a process of the same user in the instant before exec does so too: a
 * hostile workload then loses its own agent and nobody else's (PID 1 still ends the machine).
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
 * How a command gets into a container: steps of the child, which is forked for it. On failure each
 * step puts the reason into err. data is the child's own copy.
 */
struct spawn_inside {
	uint64_t namespaces; /* CLONE_NEW... of the child's own namespaces, from its start */
	int pid_namespace;   /* a pidfd whose process is in it; -1: the agent's, or its own */
	/* The descriptors that enter() uses. The child has them until enter() has returned, and no
	 * other descriptor of the agent. */
	const int *descriptors;
	size_t ndescriptors; /* at most SPAWN_DESCRIPTORS */
	bool hold;	     /* the child waits for spawn_release() when all is set up */
	/* Enters the container, or makes it. */
	int (*enter)(void *data, struct error *err);
	/* Opens a terminal of the container; used only with spawn_spec.terminal. */
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
	int fds[3];		 /* all above 2; become 0, 1 and 2 */
	bool terminal;		 /* fds[0] is a terminal for the session; inside: one is made */
	int cgroup_fd;		 /* -1: none */
	int program_fd;		 /* a file to execute; -1: argv[0] names the program */
	bool may_block;		 /* see the top of this file */
	bool traced;		 /* gets a login uid, by which kaudit_link.h finds it */
	const struct rlimits *rlimits;	   /* NULL: the usual limits */
	const struct spawn_inside *inside; /* NULL: no container; else user and cwd are unused */
};

/* The step of the child that failed. ENTERED is no failure: the child is in its container, and
 * waits. */
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
	int resource;	/* for RLIMIT: the limit */
	char text[256]; /* for INSIDE: the whole message */
};

/*
 * Starts a command. On success there is a child. *status_fd is -1 if its fate is known: *failure
 * then says it, with step NONE for a program that runs. Otherwise *status_fd is non-blocking. It
 * reaches its end if exec succeeds; if exec fails, it first yields a struct spawn_failure. In the
 * command all signals are unblocked and have their default action, provided that this process
 * ignores no signal but SIGPIPE and handles none.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/*
 * Reads what the child says through status_fd. Returns 1 if *out is a failure, or ENTERED with the
 * master of the container's terminal in *master (else -1); 0 if there is nothing yet; -1 if the
 * child is past its exec, or gone.
 */
int spawn_hear(int status_fd, struct spawn_failure *out, int *master);
/* Lets a child that waits go on. */
int spawn_release(int status_fd, struct error *err);

/*
 * Makes path the working directory if it lies below the root of this process, and returns 0. Returns
 * -1 with errno otherwise; the working directory is then "/" if path led out of the root (EXDEV), or
 * as it was. A path can lead out of the root because chdir() also follows the links fd, cwd and root
 * of /proc/PID, which may end in another mount namespace, and a working directory outlives execve()
 * (CVE-2024-21626 of runc).
 */
int spawn_enter_directory(const char *path);
/* Sets err to the meaning of errnum from spawn_enter_directory() for path. Returns -1. */
int spawn_explain_directory(const char *path, int errnum, struct error *err);

/* Returns the exit code for the failure: 127 not found, 126 not executable, 125 anything else. err
 * names what was asked for. */
int spawn_explain(const struct spawn_failure *failure, const char *program, const char *cwd,
		  const struct user *user, struct error *err);

#endif
